package mpi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
)

// script is a transport on which the rank that polls receives packets from rank 0 that a test
// has written, and payloads of the length that the test says.
type script struct {
	packets [lanes][][]byte
	source  core.Rank
	reach   bool // the others' segments are memory of this process
	payload int
	posted  []Post
	ended   []Completion
}

func (s *script) Limits() TransportLimits { return TransportLimits{Eager: 4096} }
func (s *script) Close() error            { return nil }

func (s *script) Segment(size int) (Segment, error) {
	if !s.reach {
		return Segment{}, nil
	}
	other := make([]byte, size)
	return Segment{Reach: func(core.Rank) []byte { return other }}, nil
}

func (s *script) Progress(posts []Post, done []Completion) (int, error) {
	for _, p := range posts {
		switch {
		case !p.Receive:
			s.ended = append(s.ended, Completion{ID: p.ID})
		case p.Peer != AnySource:
			s.ended = append(s.ended, Completion{ID: p.ID, Len: s.payload, Source: p.Peer, Tag: p.Tag})
		default:
			s.posted = append(s.posted, p)
		}
	}
	for i := range s.posted {
		if p := &s.posted[i]; p.Buf != nil && len(s.packets[p.Tag]) > 0 {
			n := copy(p.Buf, s.packets[p.Tag][0])
			s.packets[p.Tag] = s.packets[p.Tag][1:]
			s.ended = append(s.ended, Completion{ID: p.ID, Len: n, Source: s.source, Tag: p.Tag})
			p.Buf = nil
		}
	}
	n := copy(done, s.ended)
	s.ended = s.ended[n:]
	return n, nil
}

const accepted = "nobody has noticed anything"

// attacked runs a job whose rank 1 receives the packets of the script, and returns how it
// ended.
func attacked(t *testing.T, s *script) error {
	name := "mpi attacked: " + t.Name()
	Register(name, Network{Name: "script", Live: true, Reaches: true, Open: func(spec *Spec) (Transport, error) {
		if spec.Boot.Rank() == 1 {
			return s, nil
		}
		return new(script), nil
	}})
	return core.RunGoroutines(2, core.Config{Conduit: name, Threads: core.Single, Segment: "4096"}, func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) {}},
		}})
		if err != nil {
			return err
		}
		if j.Rank() == 0 {
			return ep.WaitUntil(func() bool { return false })
		}
		for range 100 {
			if err := ep.Poll(); err != nil {
				return err
			}
		}
		return errors.New(accepted)
	})
}

// forge makes a packet of the records.
func forge(credits int, records ...[]byte) []byte {
	b := make([]byte, packetHeader)
	for _, r := range records {
		b = append(b, r...)
	}
	putPacketHeader(b, credits, true, len(b))
	return b
}

// forgeRecord makes a record with that many bytes behind its header.
func forgeRecord(k core.Kind, reply bool, nargs int, tag int32, n int, off uint64, behind int) []byte {
	b := make([]byte, recordHeader+behind)
	putRecordHeader(b, core.MakeHeader(128, k, reply, nargs), tag, n, off)
	return b
}

func TestHostile(t *testing.T) {
	short := forgeRecord(core.Short, false, 0, 0, 0, 0, 0)
	many := make([][]byte, defaults().depth+1)
	for i := range many {
		many[i] = forgeRecord(core.Medium, false, 0, firstTag, 8, 0, 0)
	}
	wrong := forge(0, short)
	binary.LittleEndian.PutUint32(wrong[4:], 1<<31)
	flagged := forge(0, short)
	flagged[2] = 2
	for _, tc := range []struct {
		name string
		s    script
		want string
	}{
		{"sound short", script{packets: [lanes][][]byte{{forge(0, short, short)}}}, accepted},
		{"sound medium", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 3, 0, 9, 0, 16+16))}}}, accepted},
		{"sound late long", script{payload: 4096, packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, firstTag, 4096, 0, 0))}}}, accepted},
		{"sound long in place", script{reach: true, packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, inPlace, 4096, 0, 0))}}}, accepted},
		{"in place, but out of reach", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, inPlace, 8, 0, 0))}}}, "said to be in place"},
		{"in place past the segment", script{reach: true, packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, inPlace, 8, 4089, 0))}}}, "said to be in place"},
		{"in place that wraps", script{reach: true, packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, inPlace, 8, ^uint64(0), 0))}}}, "said to be in place"},
		{"medium in place", script{reach: true, packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, inPlace, 8, 0, 0))}}}, "said to be in place"},
		{"no header", script{packets: [lanes][][]byte{{{1, 0, 0}}}}, "a packet of 3 bytes"},
		{"another length", script{packets: [lanes][][]byte{{wrong}}}, "says it has 2147483648"},
		{"unknown flags", script{packets: [lanes][][]byte{{flagged}}}, "flags 0x2"},
		{"from outside the group", script{source: 7, packets: [lanes][][]byte{{forge(0, short)}}}, "not in the group"},
		{"from nowhere", script{source: -1, packets: [lanes][][]byte{{forge(0, short)}}}, "not in the group"},
		{"credit for nothing", script{packets: [lanes][][]byte{nil, {forge(1)}}}, "returned 1 credits of 0"},
		{"half a record", script{packets: [lanes][][]byte{{forge(0, short[:8])}}}, "does not hold"},
		{"arguments past the packet", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Short, false, 16, 0, 0, 0, 56))}}}, "does not hold"},
		{"17 arguments", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Short, false, 17, 0, 0, 0, 72))}}}, "does not hold"},
		{"payload past the packet", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, 0, 17, 0, 16))}}}, "does not hold"},
		{"payload of 4 GB", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, 0, 1<<32-1, 0, 16))}}}, "does not hold"},
		{"reply among requests", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Short, true, 0, 0, 0, 0, 0))}}}, "among the requests"},
		{"request among replies", script{packets: [lanes][][]byte{nil, {forge(0, short)}}}, "among the replies"},
		{"reply to nothing", script{packets: [lanes][][]byte{nil, {forge(0, forgeRecord(core.Short, true, 0, 0, 0, 0, 0))}}}, "to no request"},
		{"too many requests", script{payload: 8, packets: [lanes][][]byte{{forge(0, many...)}}}, "more than 32 requests"},
		{"late short", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Short, false, 0, firstTag, 8, 0, 0))}}}, "with a payload of 8 bytes"},
		{"late nothing", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, firstTag, 0, 0, 0))}}}, "payload of 0 bytes"},
		{"a packet's tag", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, 1, 8, 0, 0))}}}, "under tag 1"},
		{"no tag of MPI", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, MaxTag+1, 8, 0, 0))}}}, "under tag 32768"},
		{"medium too long", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, firstTag, 64<<10+1, 0, 0))}}}, "a Medium of 65537 bytes"},
		{"late long past the segment", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, firstTag, 8, 4089, 0))}}}, "outside the segment"},
		{"late long that wraps", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, firstTag, 8, ^uint64(0), 0))}}}, "outside the segment"},
		{"long past the segment", script{packets: [lanes][][]byte{{forge(0, forgeRecord(core.Long, false, 0, 0, 8, 4089, 8))}}}, "outside the segment"},
		{"unknown category", script{packets: [lanes][][]byte{{forge(0, forgeRecord(3, false, 0, 0, 0, 0, 0))}}}, "no such category"},
		{"late unknown category", script{packets: [lanes][][]byte{{forge(0, forgeRecord(3, false, 0, firstTag, 8, 0, 0))}}}, "with a payload of 8 bytes"},
		{"late payload too short", script{payload: 7, packets: [lanes][][]byte{{forge(0, forgeRecord(core.Medium, false, 0, firstTag, 8, 0, 0))}}}, "a payload of 7 bytes, 8 were announced"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := attacked(t, &tc.s)
			who := fmt.Sprintf("rank 1: message from rank %d: ", tc.s.source)
			if tc.want == accepted {
				who = "rank 1: "
			}
			if err == nil || !strings.Contains(err.Error(), who) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the job ended with %v, which does not say %q and %q", err, who, tc.want)
			}
		})
	}
}

// FuzzRecords takes a packet apart. Whatever it holds, the parts lie in it one behind the
// other, and put together again they parse to the same.
func FuzzRecords(f *testing.F) {
	f.Add(forge(3, forgeRecord(core.Medium, false, 3, 0, 9, 0, 32), forgeRecord(core.Long, true, 0, 5, 1<<20, 4096, 0)))
	f.Add(forge(0, forgeRecord(core.Short, false, 31, 0, 0, 0, 200)))
	f.Add([]byte{0, 0, 0, 0, 24, 0, 0, 0, 2, 128, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := parsePacketHeader(b); err != nil {
			return
		}
		for rest := b[packetHeader:]; len(rest) > 0; {
			var r, s record
			took, err := parseRecord(&r, rest)
			if err != nil {
				return
			}
			size := recordSize(r.hdr.NArgs(), len(r.data))
			if took != size || r.hdr.NArgs() > core.MaxArgs || r.tag == 0 && int(r.n) != len(r.data) {
				t.Fatalf("record %+v of %d bytes took %d", r, size, took)
			}
			again := make([]byte, recordHeader, size)
			putRecordHeader(again, r.hdr, r.tag, int(r.n), r.off)
			again = append(append(again, r.args...), r.data...)
			again = append(again, make([]byte, size-len(again))...)
			took, err = parseRecord(&s, again)
			if err != nil || took != size || s.hdr != r.hdr || s.n != r.n || s.off != r.off || s.tag != r.tag || !bytes.Equal(s.data, r.data) || !bytes.Equal(s.args, r.args) {
				t.Fatalf("%+v became %+v, %v", r, s, err)
			}
			rest = rest[size:]
		}
	})
}

func TestSettings(t *testing.T) {
	for _, tc := range []struct{ key, value, want string }{
		{"depth", "0", "want a whole number, 1 to 4096"},
		{"depth", "many", "want a whole number, 1 to 4096"},
		{"packet", "511", "512 to 1MB"},
		{"pack", "some", "want auto, off, replies or all"},
	} {
		_, _, err := parseParams(new(Network).settings, map[string]string{tc.key: tc.value})
		if err == nil || !strings.Contains(err.Error(), tc.key) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: %v, want %q", tc.key, tc.value, err, tc.want)
		}
	}
	var other string
	p, rest, err := parseParams(func() settings.Table { return settings.Table{settings.Text("other", &other, "a text", "")} }, map[string]string{"depth": "7", "pack": "all", "other": "x"})
	if err != nil || p.depth != 7 || p.pack != packAll || len(rest) != 1 || rest["other"] != "x" {
		t.Errorf("%+v, %v, %v", p, rest, err)
	}
}
