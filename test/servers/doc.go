// Package servers pins the servers that tests start as processes of their own: etcd and NATS. They
// are tools of this module, so nothing of the project depends on them. internal/scripts/servers.sh builds
// them, and package servertest runs them.
package servers
