// Package deploy has no code: its files are for Prometheus and Grafana, see docs/operations.md, and
// its tests hold them to their promises.
package deploy
