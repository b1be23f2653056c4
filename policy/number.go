package policy

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// number is a decimal number: 0.DIGITS times ten to the power of point.
type number struct {
	negative bool
	digits   string // without zeros at either end; "" for zero
	point    int
	huge     bool // beyond what most readers keep apart; nothing else is set
}

var one = &number{digits: "1", point: 1}

// Bounds on what is compared: the exponents of a double, and digits beyond any use.
const (
	maxExponent = 400
	maxDigits   = 800
)

func (n number) equals(other *number) bool { return other != nil && n == *other }

// trimmed takes off what some reader takes for a blank.
func trimmed(text string) string {
	if text != "" && text[0] > ' ' && text[0] < 0x7f && text[len(text)-1] > ' ' && text[len(text)-1] < 0x7f {
		return text
	}
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' || r == 0xfeff || unicode.IsSpace(r) })
}

// mayBeNumber is a quick look at the first character that is not blank.
func mayBeNumber(text string) bool {
	text = trimmed(text)
	return text != "" && (isDigit(text[0]) || strings.IndexByte("+-._", text[0]) >= 0 || text[0] >= 0x80)
}

// numbersIn returns what readers make of a text that is a number: its decimal value,
// that value as a double, and for 0x10, 0o10, 0b10 and 010 the value in that base. None
// for other text.
func numbersIn(text string) (all []number) {
	text = strings.ReplaceAll(asciiDigits(trimmed(text)), "_", "")
	if len(text) > maxDigits {
		if strings.Trim(text, "0123456789+-.eE") == "" {
			return []number{{huge: true}}
		}
		return nil
	}
	if n, ok := decimal(text); ok {
		all = append(all, n)
		if double, err := strconv.ParseFloat(text, 64); err == nil && !n.huge {
			rounded, _ := decimal(strconv.FormatFloat(double, 'e', -1, 64))
			all = append(all, rounded)
		}
	}
	if whole, ok := new(big.Int).SetString(text, 0); ok && strings.HasPrefix(strings.TrimLeft(text, "+-"), "0") {
		n, _ := decimal(whole.String())
		all = append(all, n)
	}
	return slices.Compact(all)
}

// asciiDigits writes the digits of all scripts as 0 to 9. Unicode keeps each ten of
// them together, in blocks that begin with a zero.
func asciiDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !unicode.IsDigit(r) {
			return r
		}
		for _, block := range unicode.Nd.R16 {
			if low := rune(block.Lo); low <= r && r <= rune(block.Hi) {
				return '0' + (r-low)%10
			}
		}
		for _, block := range unicode.Nd.R32 {
			if low := rune(block.Lo); low <= r && r <= rune(block.Hi) {
				return '0' + (r-low)%10
			}
		}
		return r
	}, text)
}

// decimal reads [+-]digits[.digits][e[+-]digits].
func decimal(text string) (n number, ok bool) {
	n.negative = strings.HasPrefix(text, "-")
	if n.negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
		if exponent == "" {
			return n, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" || strings.Trim(strings.TrimLeft(exponent, "+-"), "0123456789") != "" {
		return n, false
	}
	kept := strings.TrimLeft(whole+fraction, "0")
	n.digits = strings.TrimRight(kept, "0")
	if n.digits == "" {
		return number{}, true
	}
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil && len(strings.TrimLeft(exponent, "+-0")) < 5 {
			return n, false
		}
	}
	if power > maxExponent || power < -maxExponent {
		return number{huge: true}, true
	}
	n.point = power + len(kept) - len(fraction)
	return n, true
}

// spellings are the common ways to write the number: without an exponent, with a
// fraction of zeros, and with an exponent.
func (n number) spellings() []string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	if n.digits == "" {
		return []string{"0", "-0", "0.0", "0.00", "0e0"}
	}
	whole, fraction := "0", ""
	switch {
	case n.point <= 0:
		fraction = strings.Repeat("0", -n.point) + n.digits
	case n.point >= len(n.digits):
		whole = n.digits + strings.Repeat("0", n.point-len(n.digits))
	default:
		whole, fraction = n.digits[:n.point], n.digits[n.point:]
	}
	var all []string
	if fraction == "" {
		all = []string{sign + whole, sign + whole + ".0", sign + whole + ".00"}
	} else {
		all = []string{sign + whole + "." + fraction}
	}
	mantissa, power := sign+n.digits[:1], strconv.Itoa(n.point-1)
	if len(n.digits) > 1 {
		mantissa += "." + n.digits[1:]
	}
	all = append(all, mantissa+"e"+power, mantissa+"E"+power)
	if n.point > 0 {
		all = append(all, mantissa+"e+"+power, mantissa+"E+"+power)
	}
	return all
}

// numberIn is the number that a pattern without wildcards is; nil if it is none.
func numberIn(pattern string) *number {
	if n, ok := decimal(pattern); ok {
		return &n
	}
	return nil
}
