// Package example shows the same program before and after it moved to soloredsync.
package example
