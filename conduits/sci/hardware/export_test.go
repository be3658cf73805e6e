package hardware

// Punctual has every packet served at the very time at which it comes to a site, by an event of its own.
func (m *Machine) Punctual() { m.slack.none = true }
