// Package example shows the same program before and after it moved to soloredislock.
package example
