package libmpi

// Open makes a rank's end without an engine.
var Open = open
