package core

// handOver hands over what was recorded of this rank, once. It is called at the rank's end: when all bodies have
// returned, or when the job has failed. Any goroutine may call it.
func (j *Job) handOver(failed bool) error {
	ep := j.ep.Load()
	if ep == nil || ep.watch == nil {
		return nil
	}
	var err error
	j.recorded.Do(func() { err = j.record(ep.watch.record().Encode(), failed) })
	return err
}

// record gives away a record. Where nobody takes records, the ranks of a job that ends well exchange them.
func (j *Job) record(b []byte, failed bool) error {
	if r, ok := j.boot.(Recorder); ok && r.Record(b) {
		return nil
	}
	if j.cfg.Records == nil {
		return nil
	}
	if failed {
		records := make([][]byte, j.size)
		records[j.rank] = b
		j.cfg.Records(records)
		return nil
	}
	all, err := j.boot.Exchange(b)
	if err == nil && j.rank == 0 {
		j.cfg.Records(all)
	}
	return err
}
