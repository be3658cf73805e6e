package spawner

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// word is the first byte of every frame of a trunk.
type word uint8

// What both ends of a trunk say.
const (
	wordBeat  word = 1 + iota // it lives
	wordPause                 // it stops until it says something else
)

// What a Job says. Ranks are numbered as in the job.
const (
	wordBegin     word = 32 + iota // how often each end is heard, in nanoseconds
	wordTask                       // JSON: a task
	wordLaunch                     // start the processes
	wordSend                       // rank, frame
	wordBroadcast                  // 1 if more belongs to it, else 0; frames
	wordConclude                   // frame
	wordDeal                       //
	wordHangUp                     // rank
	wordSignal                     // rank, or everyRank; signal
	wordTaken                      // bytes of a channel of output that are written: channel, bytes
	wordInput                      // standard input; nothing of it: its end
)

// What an agent says.
const (
	wordHello        word = 64 + iota // JSON: an introduction
	wordReady                         // it can start the processes: the program's identity
	wordLaunched                      // all processes run
	wordRefusal                       // it cannot start them: status, text
	wordBegan                         // rank, process
	wordJoined                        // rank
	wordMessage                       // rank, what it has sent
	wordBreach                        // rank, text
	wordDisconnected                  // rank, 1 and text if that is an error, else 0
	wordExited                        // rank, how, as wait(2) has it
	wordRefused                       // text
	wordFailed                        // text
	wordOutput                        // rank, channel, bytes
	wordOutputEnd                     // rank, channel
	wordInputTaken                    // bytes of standard input that the rank has been given
	wordDone                          // all its ranks have ended, and all output is sent
)

// everyRank stands for all ranks of a host.
const everyRank = 1<<32 - 1

// The channels of output.
const (
	channelOut = iota
	channelErr
	channels
)

func (w word) String() string { return fmt.Sprintf("word(%d)", uint8(w)) }

// sendRank sends a word that is about a rank.
func (t *trunk) sendRank(w word, rank int, more func([]byte) []byte) {
	t.send(w, func(b []byte) []byte {
		b = wire.AppendUint32(b, uint32(rank))
		if more != nil {
			b = more(b)
		}
		return b
	})
}

// sendText sends a word with a text.
func (t *trunk) sendText(w word, text string) {
	t.send(w, func(b []byte) []byte { return append(b, text[:min(len(text), maxReason)]...) })
}

// sendJSON sends a word with a value.
func (t *trunk) sendJSON(w word, value any) {
	text := marshal(value)
	t.send(w, func(f []byte) []byte { return append(f, text...) })
}

// marshal returns a value that can be marshalled in JSON.
func marshal(value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return b
}

// indexOf is bytes.Index of a text.
func indexOf(b []byte, text string) int { return bytes.Index(b, []byte(text)) }
