// Package example shows the same service before and after it moved to sologocron.
package example
