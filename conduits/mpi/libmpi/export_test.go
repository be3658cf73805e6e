package libmpi

// Open makes a rank's end without an engine.
var Open = open

// NumberHosts returns the numbers of the ranks' hosts.
var NumberHosts = numberHosts
