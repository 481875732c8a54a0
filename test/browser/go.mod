module github.com/solotick/solotick/test/browser

go 1.26.0

replace github.com/solotick/solotick => ../../

require (
	github.com/solotick/solotick v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/mod v0.42.0
)
