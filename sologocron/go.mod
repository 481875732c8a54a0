module github.com/solotick/solotick/sologocron

go 1.26.0

replace github.com/solotick/solotick => ../

require (
	github.com/go-co-op/gocron/v2 v2.22.0
	github.com/google/uuid v1.6.0
	github.com/jonboulle/clockwork v0.5.0
	github.com/solotick/solotick v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/robfig/cron/v3 v3.0.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
