package spawner

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// surveyTime is how long ranks may take to say where they are: longer than one that waits for its own
// goroutine to answer.
const surveyTime = time.Second

// inquiry is the question to all ranks where they are. The functions of this file run on the goroutine of
// Job.run.
type inquiry struct {
	number uint32
	places []core.Place
	asked  []bool // the rank has not answered
	left   int    // how many have not
	then   []func(places []core.Place)
}

// locate asks all ranks where they are, and has then told of it. Who has not joined, or has ended, is not
// asked.
func (j *Job) locate(then func(places []core.Place)) {
	if j.surveying != nil {
		j.surveying.then = append(j.surveying.then, then)
		return
	}
	n := len(j.members)
	j.inquiries++
	q := &inquiry{number: j.inquiries, places: make([]core.Place, n), asked: make([]bool, n), then: []func([]core.Place){then}}
	j.surveying = q
	for rank := range q.places {
		q.places[rank] = core.Place{Rank: core.Rank(rank), State: fmt.Sprintf("does not answer within %v", surveyTime)}
	}
	j.after(surveyTime, func() { j.surveyed(q) })
	j.inquire(func() { j.ask(q) })
}

// ask asks the ranks that take part.
func (j *Job) ask(q *inquiry) {
	if j.surveying != q {
		return
	}
	frame := appendFrame(nil, kindLocate, func(b []byte) []byte { return wire.AppendUint32(b, q.number) })
	for rank := range j.members {
		switch m := &j.members[rank]; {
		case m.exited || m.lost:
			q.places[rank].State = "has ended"
		case !m.joined:
			q.places[rank].State, q.places[rank].For = "has not joined the job", time.Since(j.since)
		case m.left:
			q.places[rank].State = "has finished"
		default:
			q.asked[rank] = true
			q.left++
			j.hostOf(rank).send(rank, frame)
		}
	}
	if q.left == 0 {
		j.surveyed(q)
	}
}

// placed takes note of what a rank says of where it is. What comes too late answers nothing any more.
func (j *Job) placed(rank int, number uint32, text []byte) {
	p, err := decodePlace(rank, text)
	if err != nil {
		j.end(1, fmt.Sprintf("rank %d broke the bootstrap protocol: where it is: %v", rank, err))
		return
	}
	if j.surveying != nil && j.surveying.number == number {
		j.located(rank, p)
	}
}

// decodePlace reads where a rank says that it is.
func decodePlace(rank int, text []byte) (*core.Place, error) {
	p := new(core.Place)
	err := json.Unmarshal(text, p)
	p.Rank = core.Rank(rank)
	return p, err
}

// located takes note of where a rank is, nil if it will not say.
func (j *Job) located(rank int, p *core.Place) {
	q := j.surveying
	if q == nil || !q.asked[rank] {
		return
	}
	if q.asked[rank] = false; p != nil {
		q.places[rank] = *p
	} else {
		q.places[rank].State = "has ended"
	}
	if q.left--; q.left == 0 {
		j.surveyed(q)
	}
}

// surveyed ends an inquiry.
func (j *Job) surveyed(q *inquiry) {
	if j.surveying != q {
		return
	}
	j.surveying = nil
	for rank := range q.places {
		q.places[rank].Host = j.hostName(rank)
	}
	for _, then := range q.then {
		then(q.places)
	}
}

// stalled acts on a rank's wait that takes long: it asks all ranks where they are and judges that. What
// is told meanwhile is for the next time.
func (j *Job) stalled(st core.Stall) {
	if j.verdict.ending || !j.survey.Wanted(st) {
		return
	}
	if j.surveying != nil {
		j.stall = &st
		return
	}
	j.locate(func(places []core.Place) {
		next := j.stall
		j.stall = nil
		if j.verdict.ending {
			return
		}
		report, deadlock := j.survey.Judge(st, places)
		if report != "" {
			j.out.report("%s", report)
		}
		if deadlock != "" {
			j.end(1, deadlock)
		} else if next != nil {
			j.stalled(*next)
		}
	})
}
