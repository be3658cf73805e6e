// Package hw models what machines have in common, whatever network they are on: I/O buses, links and
// DMA engines, on a [vtime.Loop]. Their constants come from machine files (package machine). What a
// network's own packets, adapters and routes are is for the model of that network.
package hw
