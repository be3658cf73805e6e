package spawner

// Expire makes the job's time limit come now.
func (j *Job) Expire() { j.post(j.expire) }
