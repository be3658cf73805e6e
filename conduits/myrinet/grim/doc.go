// Package grim has GRIM, the General-purpose Reliable In-order Message layer, on modelled Myrinet.
package grim
