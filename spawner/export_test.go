package spawner

import "time"

// Expire makes the job's time limit come now.
func (j *Job) Expire() { j.post(j.expire) }

// SetLineWait sets how long jobs to be started hold back an unfinished line, until the function that it returns is called.
func SetLineWait(d time.Duration) (reset func()) {
	old := lineWait
	lineWait = d
	return func() { lineWait = old }
}

// SetPulse sets how often the ends of trunks are heard, until the function that it returns is called.
func SetPulse(d time.Duration) (reset func()) {
	old := pulse
	pulse = d
	return func() { pulse = old }
}
