// Package grim has GRIM, the General-purpose Reliable In-order Message layer: firmware for the LANai, and the library that
// programs on hosts use it by, on a [vtime.Loop]. docs/grim.md says what of GRIM there is, what is modelled at which grain, and how
// that compares with what was published.
//
// # Between NICs
//
// A message has a header of 32 bytes ([Header]) and up to [MaxPayload] bytes of payload. NIs are optimistic: they send, and the
// receiving one answers by an ACK, or by a NACK if the endpoint has no room; each is 8 bytes ([Control]). It then drops what follows until the refused
// message comes again. The sending NI goes back to the refused message and sends it, and those behind it to the same
// destination, again. So messages arrive once and in order. There are no time-outs unless Image.TimeOuts asks for them: the network must be reliable
// otherwise, and what it loses all the same stops the messages between two endpoints for good. With Image.ITB routes may lead through hosts, whose NIs send packets in transit on.
//
// # Channels
//
// Each endpoint has a channel of its NIC: a queue of outgoing messages in SRAM, with the registers front, next and back. The
// host appends, by its processor or for large payloads by DMA, and writes the back register; the firmware scans the channels for
// messages that are to be sent. Only the sending NI keeps messages. What is under way has an entry of the scoreboard, and the token in
// a header is the number of that entry: 255 messages of an NI, in equal parts for all channels. Sequence numbers belong to a channel, an NI, and a channel there
// (any-to-any), so that an endpoint that takes nothing in holds up those who send to it, and no others. Arrays for that come out of
// the SRAM too. [Image] has what GRIM is compared with.
//
// # Remote memory
//
// NIs write and read memory that a host has registered ([Endpoint.RegisterMemory]), without a program there: RM-V and RM-P ([Endpoint.Write],
// [Endpoint.WriteFrom], [Endpoint.WritePhysical]), and RM-RV ([Endpoint.Read]). Places are keys and offsets of 64 bits, or as in the paper addresses of 32 bits ([Remote]). The NI looks them up in
// its translation cache, and asks the host by an interrupt for what is not there. Memory that is not registered is refused, counted, and told to the initiator.
// Remote memory before a message, or before remote memory, stays in order; behind a message it may overtake that one's handler.
//
// # Devices and multicast
//
// An endpoint can be a device, which no program of the host has to do with ([Host.OpenDevice]). Multicast messages go along trees of NIs
// ([Cluster.NewTree], [Endpoint.Multicast]).
//
// # Programs
//
// [NewCluster] and [NewStar] make hosts, the fabric between them, and routes; [NewHost] and [Host.SetRoute] do so in a fabric of one's
// own. A host can have an endpoint for each channel ([Host.Open]). Handlers are registered by names; one endpoint, the server, gives
// each name a number that is the same everywhere ([Endpoint.Synchronize], [Endpoint.Find]). [Endpoint.Send] sends an active message.
//
// Nothing happens but in RunUntil and Run of the simulation: a call of the library schedules events, which fire on the stack of whoever
// calls these two, and so do handlers. An endpoint polls all the time, as a program that has nothing else to do, unless
// [Endpoint.Attend] says otherwise.
package grim
