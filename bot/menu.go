package bot

// MenuEntry is a command for the menu of a platform's apps.
type MenuEntry struct{ Name, Help string }

// Menu is the table of commands, in the order of the help; those for owners say
// so, since a menu is the same for everybody.
func Menu() []MenuEntry {
	var menu []MenuEntry
	for _, c := range table() {
		help := c.help
		if c.who == owners {
			help = "owners: " + help
		}
		menu = append(menu, MenuEntry{Name: c.name, Help: help})
	}
	return menu
}
