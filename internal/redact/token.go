package redact

import "strings"

// shape is how the tokens of a service look: a prefix, then runs of bytes of one
// kind, each at least so long, with dots between them.
type shape struct {
	prefixes []string
	of       func(byte) bool
	least    []int
}

// shapes are by the first byte of their prefixes.
var shapes = byFirst([]shape{
	{[]string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"}, isDash, []int{16}},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, isAlnum, []int{20}},
	{[]string{"github_pat_"}, isWord, []int{20}},
	{[]string{"glpat-"}, isDash, []int{16}},
	{[]string{"xapp-"}, isDash, []int{8}},
	{[]string{"AIza"}, isDash, []int{30}},
	{[]string{"ya29."}, isDash, []int{16}},
	{[]string{"hf_", "npm_"}, isAlnum, []int{30}},
	{[]string{"pypi-"}, isDash, []int{30}},
	{[]string{"SG."}, isDash, []int{16, 16}},
	{[]string{"holm_sk_", "holm_ch_", "steer_sk_", "steer_ch_"}, isDash, []int{8}},
	{[]string{"eyJ"}, isDash, []int{8, 8, 0}}, // a JSON web token
})

func byFirst(all []shape) (by [256][]shape) {
	for _, s := range all {
		for _, prefix := range s.prefixes {
			by[prefix[0]] = append(by[prefix[0]], shape{[]string{prefix}, s.of, s.least})
		}
	}
	return by
}

// knownToken finds values that are secrets whatever they are called.
func knownToken(s string, from int) (start, end int, shown string) {
	for i := from; i < len(s); i++ {
		if i > 0 && isWord(s[i-1]) {
			continue
		}
		if end := tokenAt(s, i); end > 0 {
			return i, end, Mask
		}
	}
	return none, 0, ""
}

// tokenAt is where a token that begins at i ends, 0 for none.
func tokenAt(s string, i int) int {
	for _, shape := range shapes[s[i]] {
		if end := shape.end(s, i); end > 0 {
			return end
		}
	}
	switch {
	case s[i] == 'x':
		return slackToken(s, i)
	case s[i] == 'A':
		return awsKey(s, i)
	case isDigit(s[i]):
		return telegramToken(s, i)
	}
	return 0
}

func (h shape) end(s string, i int) int {
	if !strings.HasPrefix(s[i:], h.prefixes[0]) {
		return 0
	}
	at := i + len(h.prefixes[0])
	for n, least := range h.least {
		if n > 0 {
			if at == len(s) || s[at] != '.' {
				return 0
			}
			at++
		}
		end := run(s, at, h.of)
		if end-at < least {
			return 0
		}
		at = end
	}
	return at
}

// slackToken is xox, a letter, a dash and at least eight.
func slackToken(s string, i int) int {
	if len(s)-i < 5 || s[i:i+3] != "xox" || s[i+3] < 'a' || s[i+3] > 'z' || s[i+4] != '-' {
		return 0
	}
	if end := run(s, i+5, isDash); end-i-5 >= 8 {
		return end
	}
	return 0
}

// awsKey is the id of an access key: twenty characters that stand alone.
func awsKey(s string, i int) int {
	if !strings.HasPrefix(s[i:], "AKIA") && !strings.HasPrefix(s[i:], "ASIA") {
		return 0
	}
	end := i + 20
	if len(s) < end || run(s[:end], i, isKeyID) != end || end < len(s) && isWord(s[end]) {
		return 0
	}
	return end
}

// telegramToken is a number, :AA and at least thirty.
func telegramToken(s string, i int) int {
	colon := run(s, i, isDigit)
	if colon-i < 6 || !strings.HasPrefix(s[colon:], ":AA") {
		return 0
	}
	if end := run(s, colon+3, isDash); end-colon-3 >= 30 {
		return end
	}
	return 0
}
