package main

// The front door brings all conduits of the one binary with it.
import _ "github.com/aqueduct-go/aqueduct"
