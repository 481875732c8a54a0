// Package election shows the same program before and after it moved to package election.
package election
