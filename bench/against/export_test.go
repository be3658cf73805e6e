package against

// LastOf is lastOf.
var LastOf = lastOf

// ParseIperf3 reads what iperf3 prints of messages of a size.
func ParseIperf3(size int, text []byte) (float64, error) {
	return parseIperf3(job{size: size, iters: 1}, text)
}
