package am2

import (
	"fmt"
	"time"
)

// Never is the time of what is not due at all.
const Never time.Duration = 1<<63 - 1

// Config are the sizes and times of a bundle. Both ends of a channel must agree about
// ReplyAcks, Depth, MaxMedium and MaxBulk.
type Config struct {
	// Depth is how many requests of a channel may be unsettled: sent, and not known to be
	// handled.
	Depth int
	// Window is how many packets of a lane may be in flight: a power of two, at most 131072.
	Window int
	// Packets is how many packets of requests the bundle keeps until they are acknowledged,
	// Replies how many of replies. A request is delivered only if a packet and a stage are
	// there for its reply.
	Packets, Replies int
	// Stages is how many bulk payloads that are not lent the bundle keeps, as many for
	// requests as for replies.
	Stages int
	// Receive is how many packets and bulk messages of requests are kept until they are
	// delivered, and ReceiveBytes how many bytes they may have, but for Longs, which have their
	// place; as much again is there for replies. Bulk that has begun to arrive may exceed it.
	Receive, ReceiveBytes int
	// Assemblies is how many Mediums that are bulk may be arriving; one more per lane always may.
	// Of Longs, which have their place, Receive may be.
	Assemblies int
	// MaxMedium and MaxBulk are the payload bytes of a Medium and of a Long at most.
	MaxMedium, MaxBulk int
	// Datagram is the bytes of a datagram at most, whatever the path allows, and Pack those
	// of one in which messages gather; what does not fit it goes as bulk.
	Datagram, Pack int
	// Inline, if not 0, has every message travel in a packet of its own, which leaves when it is committed, as from
	// the queues of a NIC. A packet then has so many bytes of payload at most; what is longer goes as bulk.
	Inline int
	// Fragment, if not 0, is the payload bytes of a fragment at most, a multiple of 8. Otherwise a fragment has as many as
	// a datagram has room for.
	Fragment int
	// Unpaced leaves congestion control out: windows alone limit what is under way. It is for networks that hold
	// packets back themselves and hardly lose any, such as Myrinet.
	Unpaced bool
	// Peers is how many processes may be known, Channels how many channels with one of them.
	Peers, Channels int

	// Gather is how long committed messages may wait for others to share their packet, while
	// earlier ones are unacknowledged.
	Gather time.Duration
	// AckDelay is how long an acknowledgement may wait for a packet to travel with.
	AckDelay time.Duration
	// MinRTO bounds the time-out, after which a packet is sent again. MaxRTO, or twice the
	// time-out if that is more, bounds what it becomes by doublings while nothing comes. FirstRTO
	// is it before anything is known of the path.
	FirstRTO, MinRTO, MaxRTO time.Duration
	// KeepAlive is how long a request may be unsettled before the peer is asked for news.
	KeepAlive time.Duration
	// A peer is unreachable when nothing was heard of it for the time Unreachable of trying and
	// over 16 tries, or over Retries retransmissions of one packet. A time in which nobody called
	// Service when it was due does not count. Tries are so frequent that the time decides, unless
	// the round trip takes more than about a twentieth of it.
	Unreachable time.Duration
	Retries     int

	// ReplyAcks selects the protocol of HPAM: one message per packet, every request is
	// replied to, and the reply acknowledges. Window equals Depth then.
	ReplyAcks bool
}

// Defaults returns what suits a job's ranks on an ordinary network. Retries is AM-II's, whose
// firmware gives a message back after 255 (Chun, Mainwaring and Culler, "Virtual network
// transport protocols for Myrinet"); the other values were chosen.
func Defaults() Config {
	return Config{
		Depth: 1024, Window: maxWindow,
		Packets: 1024, Replies: 1024, Stages: 16,
		Receive: 1 << 15, ReceiveBytes: 16 << 20, Assemblies: 256,
		MaxMedium: 64 << 10, MaxBulk: 4 << 20, Datagram: 65507, Pack: 8 << 10,
		Peers: 1 << 16, Channels: 1 << 14,
		Gather: 10 * time.Microsecond, AckDelay: 200 * time.Microsecond,
		FirstRTO: 50 * time.Millisecond, MinRTO: time.Millisecond, MaxRTO: 250 * time.Millisecond,
		KeepAlive: time.Second, Unreachable: 10 * time.Second, Retries: 255,
	}
}

// check returns what is wrong with c.
func (c *Config) check() error {
	for _, f := range []struct {
		name            string
		is, least, most int
	}{
		{"Depth", c.Depth, 1, 1 << 16},
		{"Window", c.Window, 1, maxWindow},
		{"Packets", c.Packets, 1, 1 << 20},
		{"Replies", c.Replies, 2, 1 << 20},
		{"Stages", c.Stages, 1, 1 << 16},
		{"Receive", c.Receive, 1, 1 << 20},
		{"ReceiveBytes", c.ReceiveBytes, c.Datagram, 1 << 30},
		{"Assemblies", c.Assemblies, 0, 1 << 20},
		{"MaxMedium", c.MaxMedium, 0, 1 << 28},
		{"MaxBulk", c.MaxBulk, 0, 1 << 28},
		{"Datagram", c.Datagram, MinDatagram, 65535},
		{"Pack", c.Pack, MinDatagram, 65535},
		{"Inline", c.Inline, 0, c.Pack - MessageHead},
		{"Fragment", c.Fragment, 0, 1 << 16},
		{"Peers", c.Peers, 1, 1 << 30},
		{"Channels", c.Channels, 1, 1 << 30},
		{"Retries", c.Retries, 1, 1 << 15},
	} {
		if f.is < f.least || f.is > f.most {
			return fmt.Errorf("am2: Config.%s is %d; it must be %d to %d", f.name, f.is, f.least, f.most)
		}
	}
	for _, f := range []struct {
		name string
		is   time.Duration
	}{
		{"Gather", c.Gather}, {"AckDelay", c.AckDelay}, {"FirstRTO", c.FirstRTO}, {"MinRTO", c.MinRTO},
		{"MaxRTO", c.MaxRTO}, {"KeepAlive", c.KeepAlive}, {"Unreachable", c.Unreachable},
	} {
		if f.is <= 0 {
			return fmt.Errorf("am2: Config.%s is %v; it must be positive", f.name, f.is)
		}
	}
	switch {
	case c.Window&(c.Window-1) != 0:
		return fmt.Errorf("am2: Config.Window is %d; it must be a power of two", c.Window)
	case c.Fragment%unit != 0:
		return fmt.Errorf("am2: Config.Fragment is %d; it must be a multiple of %d", c.Fragment, unit)
	case c.MinRTO > c.MaxRTO:
		return fmt.Errorf("am2: Config.MinRTO is %v, above MaxRTO, which is %v", c.MinRTO, c.MaxRTO)
	case c.ReplyAcks && c.Depth != c.Window:
		return fmt.Errorf("am2: Config.Depth is %d and Window %d; with ReplyAcks they must be equal", c.Depth, c.Window)
	case c.ReplyAcks && max(c.MaxMedium, c.MaxBulk) > c.Datagram-MessageHead:
		return fmt.Errorf("am2: Config.MaxMedium and MaxBulk must be at most %d with ReplyAcks: a message is one packet", c.Datagram-MessageHead)
	}
	return nil
}
