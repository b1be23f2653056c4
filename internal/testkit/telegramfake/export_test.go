package telegramfake

// The tables, for the comparison with the published API.
var (
	MethodParameters = methodParameters
	ObjectFields     = objectFields
	ParseHTML        = func(source string) (string, []Entity, error) {
		text, entities, err := parseHTML(source)
		text, entities = tidy(text, entities)
		return text, entities, err
	}
)
