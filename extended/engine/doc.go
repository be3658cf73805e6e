// Package engine is what a member of a team does for its collective calls and barriers, as state
// machines: arrivals in, sends out. It knows no network, no events and no waiting. What it has to send goes
// to an Outlet; what has come for it is handed to Arrive; Advance lets it go on where it lacked something.
//
// An Engine carries out the schedules of package coll, of many calls at a time. A Barrier is split-phase.
// Neither is safe for use by several goroutines at once.
package engine
