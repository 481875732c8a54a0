// Package mistakes has the mistakes that people make when they put Solotick into a service, each
// with what it answers.
package mistakes
