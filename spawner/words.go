package spawner

import (
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

// What a Job says, and what an agent passes on to those below it. Ranks are numbered as in the job.
const (
	wordBegin     word = 32 + iota // JSON: a branch, the agent's; it reports when all below it can be asked
	wordTask                       // JSON: a task, of all agents; reports say whether each can start the processes
	wordLaunch                     // start the processes; reports say whether they run
	wordSend                       // rank, frame
	wordBroadcast                  // 1 if more belongs to it, else 0; frames
	wordConclude                   // frame
	wordDeal                       //
	wordHangUp                     // rank
	wordSignal                     // rank, or everyRank; signal
	wordTaken                      // bytes of a channel of output that are written: channel, bytes
	wordInput                      // standard input; nothing of it: its end
	wordTell                       // tell what is held back; number
)

// What an agent says, of its host and of those below it.
const (
	wordReport       word = 64 + iota // JSON: a report, on what it has been asked for last
	wordEvents                        // frames of what follows, in their order
	wordBegan                         // rank, process
	wordJoined                        // rank
	wordArrived                       // kind of a collective call, and its callers: rank, bytes; nobody: all ranks
	wordMessage                       // rank, what it has sent else
	wordBreach                        // rank, text
	wordDisconnected                  // rank, 1 and text if that is an error, else 0
	wordExited                        // rank, how, as wait(2) has it
	wordRefused                       // host, text: a connection was turned away
	wordFailed                        // host, text: it cannot go on
	wordSaid                          // host, text: it, or what has connected it, says something
	wordLost                          // host, text: it is out of reach
	wordOutput                        // rank, channel, bytes
	wordOutputEnd                     // rank, channel
	wordInputTaken                    // bytes of standard input that the rank has been given
	wordTold                          // all that was held back is told; number
	wordDone                          // all ranks have ended, and all output is sent
)

// What rank 0 of a static job and a rank that arrives say to each other.
const (
	wordHello   word = 128 + iota // JSON: an arrival
	wordReady                     // all ranks have come: the placement
	wordRefusal                   // status, text
)

// What an agent that connects by itself and the door that it comes to say to each other. The door may answer by wordRefusal, too.
const (
	wordCall word = 160 + iota // JSON: a call
	wordCome                   // its place is here
	wordMove                   // the number of its host, and the address of the door that it is to go to
)

// everyRank stands for all ranks.
const everyRank = 1<<32 - 1

// The channels of output.
const (
	channelOut = iota
	channelErr
	channels
)

func (w word) String() string { return fmt.Sprintf("word(%d)", uint8(w)) }

// sendRank sends a word that is about a rank.
func (t *trunk) sendRank(w word, rank int, more func([]byte) []byte) { t.send(w, about(rank, more)) }

// about appends a rank, or another number, and more, unless that is nil.
func about(rank int, more func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		b = wire.AppendUint32(b, uint32(rank))
		if more != nil {
			b = more(b)
		}
		return b
	}
}

// sendNumber sends a word with a number.
func (t *trunk) sendNumber(w word, number uint32) { t.sendRank(w, int(number), nil) }

// sendNotice sends a word that is about a host.
func (t *trunk) sendNotice(w word, host int, text string) {
	t.sendRank(w, host, func(b []byte) []byte { return append(b, text[:min(len(text), maxReason)]...) })
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
