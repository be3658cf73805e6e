package mtls

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const protocol = "test/1"

// serve returns a Listener on the loopback, and what it says of those whom it refuses.
func serve(t *testing.T, k Key) (*Listener, chan error) {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1000)
	l, err := k.Listen(protocol, socket, func(err error) { refused <- err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, refused
}

// talk has who has the key come, and both ends say something.
func talk(t *testing.T, k Key, l *Listener) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	came := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		came <- c
	}()
	c, err := k.Dial(ctx, protocol, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := <-came
	defer s.Close()
	for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
		long := bytes.Repeat([]byte("word"), handshakeBytes) // more than strangers may send
		go way[0].Write(long)
		got := make([]byte, len(long))
		if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, long) {
			t.Fatalf("what came is not what was sent: %v", err)
		}
	}
	if state := s.(*tls.Conn).ConnectionState(); state.Version != tls.VersionTLS13 {
		t.Errorf("the version is %x", state.Version)
	}
}

func TestStream(t *testing.T) {
	k := NewKey()
	l, _ := serve(t, k)
	for range 3 {
		talk(t, k, l)
	}
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := k.Dial(t.Context(), protocol, l.Addr().String()); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("nobody listens: %v", err)
	}
}

// stranger connects to l and does something.
func stranger(t *testing.T, l *Listener, do func(net.Conn)) {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	do(c)
}

// Who does not prove that it has the key is refused, by name, and keeps nobody out.
func TestStrangers(t *testing.T) {
	k := NewKey()
	certificate, err := k.config(protocol)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(k Key, protocol, want string) func(*testing.T, *Listener) {
		return func(t *testing.T, l *Listener) {
			c, err := k.Dial(t.Context(), protocol, l.Addr().String())
			if err == nil {
				// The client's handshake is over before the server has judged.
				_, err = c.Read(make([]byte, 1))
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the client is told: %v; want %q", err, want)
			}
		}
	}
	client := func(config *tls.Config) func(*testing.T, *Listener) {
		return func(t *testing.T, l *Listener) {
			stranger(t, l, func(c net.Conn) {
				s := tls.Client(c, config)
				if err := s.Handshake(); err == nil {
					s.Read(make([]byte, 1)) // until the server hangs up
				}
			})
		}
	}
	for _, c := range []struct {
		name string
		come func(*testing.T, *Listener)
		want string
	}{
		{"wrong key", dial(NewKey(), protocol, "another key"), "its key is another"},
		{"other protocol", dial(k, "test/2", "another protocol"), "unsupported application protocol"},
		{"no certificate", client(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}), "certificate"},
		{"the certificate without the key", client(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			other, err := NewKey().config(protocol)
			if err != nil {
				return nil, err
			}
			return &tls.Certificate{Certificate: certificate.Certificates[0].Certificate, PrivateKey: other.Certificates[0].PrivateKey}, nil
		}}), ""},
		{"certificate of another key", client(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			other, err := NewKey().config(protocol)
			return &other.Certificates[0], err
		}}), "another key"},
		{"TLS 1.2", client(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}), "unsupported versions"},
		{"text", func(t *testing.T, l *Listener) {
			stranger(t, l, func(c net.Conn) { io.WriteString(c, "GET / HTTP/1.1\r\n\r\n") })
		}, "does not look like a TLS handshake"},
		{"oversized", func(t *testing.T, l *Listener) {
			stranger(t, l, func(c net.Conn) {
				// Records of a handshake message that claims 64 KB.
				c.Write([]byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xf0})
				c.Write(make([]byte, 0x4000-4))
				c.Write([]byte{22, 3, 1, 0x40, 0})
				c.Write(make([]byte, 0x4000))
			})
		}, "more than 16384 bytes"},
		{"closed", func(t *testing.T, l *Listener) { stranger(t, l, func(c net.Conn) { c.Close() }) }, "closed the connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, refused := serve(t, k)
			c.come(t, l)
			if err := <-refused; !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "127.0.0.1:") {
				t.Errorf("refused: %v; want %q", err, c.want)
			}
			talk(t, k, l)
		})
	}
}

// recorder keeps what is written to a connection.
type recorder struct {
	net.Conn
	sent bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) { r.sent.Write(p); return r.Conn.Write(p) }

// What somebody has recorded of a stream is of no use again.
func TestReplay(t *testing.T) {
	k := NewKey()
	l, refused := serve(t, k)
	config, err := k.config(protocol)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Conn: c}
	s, err := shake(t.Context(), r, config, tls.Client)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	io.WriteString(s, "abort")
	s.Close()
	stranger(t, l, func(c net.Conn) { c.Write(r.sent.Bytes()) })
	if err := <-refused; err == nil {
		t.Error("a replayed handshake was not refused")
	}
	talk(t, k, l)
}

// Silent strangers, however many, keep nobody out, and those that came first make room.
func TestCrowd(t *testing.T) {
	k := NewKey()
	l, refused := serve(t, k)
	for range maxPending + 10 {
		stranger(t, l, func(net.Conn) {})
	}
	for range 10 {
		if err := <-refused; !errors.Is(err, errCrowded) {
			t.Errorf("refused: %v", err)
		}
	}
	talk(t, k, l) // which makes one more leave
	if err := <-refused; !errors.Is(err, errCrowded) {
		t.Errorf("refused: %v", err)
	}
	l.Close()
	for range maxPending - 1 {
		if err := <-refused; !errors.Is(err, errClosed) {
			t.Errorf("at Close: %v", err)
		}
	}
}

// A handshake ends when its time is up.
func TestPatience(t *testing.T) {
	k := NewKey()
	config, err := k.config(protocol)
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(net.Conn, *tls.Config) *tls.Conn{"server": tls.Server, "client": tls.Client} {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go io.Copy(io.Discard, theirs)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := shake(ctx, ours, config, end); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if _, err := ours.Read(nil); err == nil {
			t.Errorf("%s: the connection is open", name)
		}
	}
}

// An impostor in the listener's place is found out.
func TestImpostor(t *testing.T) {
	l, refused := serve(t, NewKey())
	if _, err := NewKey().Dial(t.Context(), protocol, l.Addr().String()); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("a client with another key: %v", err)
	}
	<-refused
}

func TestKeyFile(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct{ text, want string }{
		{digits, ""},
		{digits + "\n", ""},
		{digits + "\nexpires=2099-01-01T00:00:00Z\n", ""},
		{digits + " expires=2001-01-01T00:00:00Z", "the key has expired, at 2001-01-01T00:00:00Z"},
		{digits + " expires=tomorrow", "what follows expires= is no time"},
		{digits + " " + digits, "something else than expires=TIME"},
		{digits + " expires=2099-01-01T00:00:00Z more", "something else than expires=TIME"},
		{digits[1:], "64 hexadecimal digits"},
		{"", "64 hexadecimal digits"},
		{"x" + digits[1:], "other characters"},
		{strings.Repeat("x", 2000), "the most is 1024"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := ReadKey(path)
		if c.want == "" {
			if err != nil || hex.EncodeToString(k[:]) != digits {
				t.Errorf("%q: %x, %v", c.text, k, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(digits), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), "0640") {
		t.Errorf("a key that a group may read: %v", err)
	}
}

func FuzzParseKey(f *testing.F) {
	digits := strings.Repeat("0123456789abcdef", 4)
	f.Add(digits)
	f.Add(digits + " expires=2099-01-01T00:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := parseKey(text, time.Unix(0, 0))
		if err == nil && !strings.EqualFold(strings.Fields(text)[0], hex.EncodeToString(k[:])) {
			t.Errorf("%q: %x", text, k)
		}
	})
}
