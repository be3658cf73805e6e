package binding

import (
	"fmt"
	"strconv"
	"strings"
)

// mostCPUs bounds the numbers of CPUs: those that Linux can be configured for are below 8192.
const mostCPUs = 1 << 16

// ParseList reads numbers as Linux lists CPUs, such as 0-3,8, which ascend.
func ParseList(text string) (numbers []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 32)
		last, err2 := strconv.ParseUint(to, 10, 32)
		if err1 != nil || err2 != nil || last < first || last >= mostCPUs || len(numbers) > 0 && int(first) <= numbers[len(numbers)-1] {
			return nil, fmt.Errorf("%q is no list of CPUs; want one such as 0-3,8", text)
		}
		for n := int(first); n <= int(last); n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// FormatList writes ascending numbers as ParseList reads them.
func FormatList(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[i]))
		if last > i {
			fmt.Fprintf(&b, "-%d", numbers[last])
		}
		i = last + 1
	}
	return b.String()
}
