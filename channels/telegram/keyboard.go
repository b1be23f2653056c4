package telegram

import (
	"fmt"
	"slices"

	"holm/bot"
)

// keyboard is an InlineKeyboardMarkup. The client library's own button type
// sends an empty copy_text along with every button, so ours is written here.
type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data"`
	Style string `json:"style,omitempty"` // Bot API 9.4; older apps ignore it
}

// keyboardOf returns the buttons of a card, nil for none. A button whose data
// would not fit is an error: data cut short could mean another decision.
func keyboardOf(card bot.Card) (*keyboard, error) {
	var k keyboard
	for _, row := range card.Buttons {
		var keys []key
		for _, b := range row {
			if len(b.Token) == 0 || len(b.Token) > maxData {
				return nil, fmt.Errorf("telegram: the data of button %.40q has %d bytes, 1 to %d are possible", b.Label, len(b.Token), maxData)
			}
			if b.Label == "" {
				return nil, fmt.Errorf("telegram: a button has no label")
			}
			keys = append(keys, key{Text: bot.VisibleLine(b.Label), Data: b.Token, Style: string(b.Style)})
		}
		k.Rows = slices.AppendSeq(k.Rows, slices.Chunk(keys, maxRow))
	}
	if len(k.Rows) == 0 {
		return nil, nil
	}
	return &k, nil
}
