package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pattern reads the text of a rule as the words of one simple command. Each word
// comes as the texts between its stars; a star in quotes is one of the texts. ok is
// false where the text is not one simple command that is known before it runs.
func Pattern(text string) (words [][]string, ok bool) {
	if strange(text) {
		return nil, false
	}
	if !strings.ContainsAny(text, "\\'\"`$;&|<>()#\n") {
		for _, word := range strings.Fields(text) {
			words = append(words, strings.Split(word, "*"))
		}
		return words, !strings.Contains(words[0][0], "=")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil, false
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns)+len(s.Redirs) > 0 || s.Negated || s.Background || len(file.Last)+len(s.Comments) > 0 {
		return nil, false
	}
	for _, w := range call.Args {
		parts, ok := betweenStars(w)
		if !ok {
			return nil, false
		}
		words = append(words, parts)
	}
	return words, true
}

func betweenStars(w *syntax.Word) ([]string, bool) {
	var all []string
	var text strings.Builder
	r := &reader{}
	for _, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.SglQuoted:
			text.WriteString(x.Value)
		case *syntax.DblQuoted:
			if r.quoted(&text, x) != "" {
				return nil, false
			}
		case *syntax.Lit:
			for rest := x.Value; rest != ""; {
				i := star(rest)
				literal(&text, rest[:i], false)
				if i == len(rest) {
					break
				}
				all = append(all, text.String())
				text.Reset()
				rest = rest[i+1:]
			}
		default:
			return nil, false
		}
	}
	return append(all, text.String()), true
}

// star is the place of the first star that no backslash protects, or the end.
func star(raw string) int {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '*':
			return i
		}
	}
	return len(raw)
}
