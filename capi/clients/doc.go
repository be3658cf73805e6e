// Package clients is nothing but its tests, which the race detector's run leaves out.
package clients
