package pmi

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// kvs is the store of a launcher that speaks PMI-1. What a rank publishes in a round is in pieces under keys aqROUND.RANK.PIECE; the
// first begins with the length of all of them and a colon.
type kvs struct {
	*server
	name  string
	value int // bytes of a value at most
	round int
}

// maxKey is the length of the longest key.
const maxKey = len("aq.65535.") + 2*20

// maxText is the length of the longest text that is published, encoded.
var maxText = base64.RawURLEncoding.EncodedLen(maxPublished)

// openKVS agrees with the launcher on a version, and asks for the job's store.
func openKVS(s *server) (*kvs, error) {
	init, err := s.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")
	if err != nil {
		return nil, err
	}
	if _, err := init.number("pmi_version", 1, 1); err != nil {
		return nil, fmt.Errorf("the launcher speaks another version of PMI: %w", err)
	}
	maxes, err := s.ask("cmd=get_maxes", "maxes")
	if err != nil {
		return nil, err
	}
	const sane = 1 << 30
	if _, err := maxes.number("keylen_max", maxKey+1, sane); err != nil {
		return nil, fmt.Errorf("the launcher's limits: %w", err)
	}
	value, err := maxes.number("vallen_max", 64, sane)
	if err != nil {
		return nil, fmt.Errorf("the launcher's limits: %w", err)
	}
	my, err := s.ask("cmd=get_my_kvsname", "my_kvsname")
	if err != nil {
		return nil, err
	}
	st := &kvs{server: s, name: my.attrs["kvsname"]}
	const longest = 256 // of any launcher known
	if st.name == "" || len(st.name) > longest || strings.Contains(st.name, " ") {
		return nil, fmt.Errorf("the launcher's store has the name %.80q", st.name)
	}
	st.value = min(value-1, maxRequest-1-len(st.put(strings.Repeat("k", maxKey), "")))
	return st, nil
}

func (st *kvs) put(key, value string) string {
	return "cmd=put kvsname=" + st.name + " key=" + key + " value=" + value
}

func key(round, rank, piece int) string { return fmt.Sprintf("aq%d.%d.%d", round, rank, piece) }

// begin implements store.
func (st *kvs) begin() { st.round++ }

// publish implements store.
func (st *kvs) publish(rank int, b []byte) error {
	text := base64.RawURLEncoding.EncodeToString(b)
	text = strconv.Itoa(len(text)) + ":" + text
	for piece := 0; text != ""; piece++ {
		n := min(len(text), st.value)
		if _, err := st.ask(st.put(key(st.round, rank, piece), text[:n]), "put_result"); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// fence implements store.
func (st *kvs) fence() error {
	_, err := st.ask("cmd=barrier_in", "barrier_out")
	return err
}

// read implements store.
func (st *kvs) read(rank int) ([]byte, error) {
	text, err := st.piece(rank, 0)
	if err != nil {
		return nil, err
	}
	head, text, ok := strings.Cut(text, ":")
	n, err := strconv.Atoi(head)
	if !ok || err != nil || n < 0 || n > maxText {
		return nil, fmt.Errorf("the launcher has no length where what rank %d gave begins: %.20q", rank, head)
	}
	var all strings.Builder
	all.WriteString(text)
	for piece := 1; all.Len() < n; piece++ {
		text, err := st.piece(rank, piece)
		if err != nil {
			return nil, err
		}
		all.WriteString(text)
	}
	b, err := base64.RawURLEncoding.DecodeString(all.String())
	if err != nil || all.Len() != n {
		return nil, fmt.Errorf("the launcher has damaged what rank %d gave: %d characters for %d", rank, all.Len(), n)
	}
	return b, nil
}

// piece returns one value, which is not empty.
func (st *kvs) piece(rank, piece int) (string, error) {
	r, err := st.ask("cmd=get kvsname="+st.name+" key="+key(st.round, rank, piece), "get_result")
	if err != nil {
		return "", fmt.Errorf("what rank %d gave in exchange %d: %w", rank, st.round, err)
	}
	v := r.attrs["value"]
	if v == "" || len(v) > st.value {
		return "", fmt.Errorf("the launcher returns %d characters of what rank %d gave in exchange %d, which go in 1 to %d", len(v), rank, st.round, st.value)
	}
	return v, nil
}

// wait implements store.
func (st *kvs) wait() error {
	<-st.gone
	return lost(st.err)
}

// abort implements store. The launcher prints nothing of the reason, which Abort has printed.
func (st *kvs) abort(status int, _ string) error {
	return st.tell(fmt.Sprintf("cmd=abort exitcode=%d", status))
}

// finish implements store.
func (st *kvs) finish() error {
	_, err := st.ask("cmd=finalize", "finalize_ack")
	st.conn.Close()
	return err
}

// drop implements store.
func (st *kvs) drop() { st.conn.Close() }
