package sisci

// Flags modify calls. Each call's comment names the ones it has; others are
// ErrIllegalFlag.
type Flags uint32

// The flags of all calls.
const (
	Private         Flags = 1 << iota // CreateSegment: no id, never connected to
	Empty                             // CreateSegment: no memory of its own
	Sparse                            // CreateSegment: modelled, memory by blocks as they are stored to; not SISCI's
	DMASourceOnly                     // Prepare: only as the source of DMA
	ReadOnly                          // Map: the memory must not be stored to
	Notify                            // SetUnavailable: ask the connected nodes to disconnect
	ForceDisconnect                   // SetUnavailable: disconnect them
	DMARead                           // Enqueue: from the remote to the local segment
	BlockRead                         // MemCpy: from the remote segment
	ErrorCheck                        // MemCpy: between Start and Check of the sequence
	LockOperation                     // Map of a remote segment: for FetchAdd
)
