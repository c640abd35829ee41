// Package settings is the server's file, interlock.yaml: its address and data, who may use it, what
// its jobs may reach, and its timeouts. It interprets the file; flags, environment and wiring are
// in cmd/interlock. The file never contains secrets: it names environment variables and files that
// hold them.
package settings

import (
	"net/netip"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// File is the server's file. Every key is optional.
type File struct {
	Listen      string              `yaml:"listen" default:"127.0.0.1:8740" doc:"Address of the HTTP API, or unix:PATH for a socket. An address that is not loopback needs tokens."`
	SocketMode  string              `yaml:"socketMode" default:"0600" enum:"0600,0660" doc:"Mode of the socket that unix:PATH creates: 0600 for the server's user only, 0660 also for its group."`
	TLS         TLS                 `yaml:"tls" doc:"Serve HTTPS."`
	CallbackURL string              `yaml:"callbackURL" doc:"URL at which jobs report their results, such as that of a load balancer; default the server's own."`
	Data        Data                `yaml:"data" default:"./interlock-data" doc:"Directory of the embedded store and of running commands, or a mapping with dir and reserve."`
	Store       string              `yaml:"store" default:"sqlite" doc:"sqlite, or redis://host:6379/0."`
	Pipelines   document.TextOrList `yaml:"pipelines" doc:"Files and directories of pipelines; default ./pipelines."`
	Calendars   document.TextOrList `yaml:"calendars" doc:"Files and directories of calendars; default ./calendars."`
	Archetypes  document.TextOrList `yaml:"archetypes" doc:"Files and directories of archetypes; default ./archetypes."`
	Sources     document.TextOrList `yaml:"sources" doc:"Files and directories of sources; default ./sources."`
	Auth        Auth                `yaml:"auth" doc:"Who may use the API."`
	Egress      Egress              `yaml:"egress" doc:"Private hosts and networks that outgoing HTTP may reach."`
	Secrets     Secrets             `yaml:"secrets" doc:"What ${env:…} and ${file:…} may read."`
	Jobs        Jobs                `yaml:"jobs" doc:"How programs run on the server's machine: jobs of type command, and probes with a command."`
	HTTP        HTTP                `yaml:"http" doc:"Reverse proxies in front of the server."`
	Sensors     Sensors             `yaml:"sensors" doc:"Which readings are accepted."`
	Limits      Limits              `yaml:"limits" doc:"Limits per pipeline and per client."`
	Engine      Engine              `yaml:"engine" doc:"Workers, leases and timeouts."`
	Watchdog    Watchdog            `yaml:"watchdog" doc:"How often the watchdog checks for missing runs and data."`
	Metrics     Metrics             `yaml:"metrics" doc:"What /metrics shows."`
	Alerts      Alerts              `yaml:"alerts" doc:"Where alerts go."`
	Archive     Archive             `yaml:"archive" doc:"Long-term storage in Postgres."`
	Archiver    *Archiver           `yaml:"archiver" doc:"The older form of archive."`
	Redis       *Redis              `yaml:"redis" doc:"The Redis store; the same as store: redis://…"`
	Retention   Retention           `yaml:"retention" doc:"How long history is kept."`
}

// TLS names the server's certificate.
type TLS struct {
	Cert string `yaml:"cert" doc:"File of the certificate chain, PEM."`
	Key  string `yaml:"key" doc:"File of its private key, PEM."`

	ClientCA          string `yaml:"clientCA" doc:"PEM file of the authorities whose client certificates are accepted; see auth.certificates."`
	RequireClientCert bool   `yaml:"requireClientCert" doc:"Reject connections without a client certificate, even with a token."`
}

// Auth configures who may use the API.
type Auth struct {
	Tokens          []Token       `yaml:"tokens" doc:"Bearer tokens and what they may do."`
	Certificates    []Certificate `yaml:"certificates" doc:"Client certificates and what they may do; needs tls.clientCA."`
	OIDC            *OIDC         `yaml:"oidc" doc:"Dashboard login with an OpenID Connect provider."`
	Sessions        Sessions      `yaml:"sessions" doc:"Browser sessions of the dashboard."`
	StreamsPerToken int           `yaml:"streamsPerToken" default:"64" min:"1" max:"256" doc:"Maximum number of open event streams per token, including its sessions."`
}

// Certificate is a client certificate, by its subject or one of its alternative names.
type Certificate struct {
	Name      string   `yaml:"name" required:"true" doc:"The client's name in the audit record."`
	Role      string   `yaml:"role" required:"true" enum:"viewer,sensor,runner,operator,admin" doc:"The role, which says what it may do."`
	Pipelines []string `yaml:"pipelines" doc:"Patterns of the pipelines the certificate is limited to; not for admin."`
	Subject   string   `yaml:"subject" doc:"The full subject, such as CN=etl,O=Data."`
	SAN       string   `yaml:"san" doc:"A subject alternative name: DNS name, URI, e-mail or IP address."`
}

// OIDC is an OpenID Connect provider, and the roles of its users' groups.
type OIDC struct {
	Issuer           string      `yaml:"issuer" required:"true" doc:"Issuer URL of the provider, which serves /.well-known/openid-configuration below it."`
	ClientID         string      `yaml:"clientID" required:"true" doc:"Client ID of this server at the provider."`
	ClientSecretEnv  string      `yaml:"clientSecretEnv" doc:"Environment variable with the client secret; a public client has none."`
	ClientSecretFile string      `yaml:"clientSecretFile" doc:"File with the client secret."`
	RedirectURL      string      `yaml:"redirectURL" required:"true" doc:"URL of this server that the provider redirects to; it ends in /api/v1/session/oidc/callback."`
	Scopes           []string    `yaml:"scopes" doc:"The scopes to request; default openid, profile, email and groups."`
	NameClaim        string      `yaml:"nameClaim" default:"email" doc:"Claim of the ID token that names the user."`
	GroupsClaim      string      `yaml:"groupsClaim" default:"groups" doc:"Claim of the ID token that lists the user's groups."`
	Label            string      `yaml:"label" default:"Log in with single sign-on" doc:"Label of the button on the login page."`
	Roles            []GroupRole `yaml:"roles" required:"true" doc:"Roles by group; the first group that the user is in applies."`
}

// GroupRole is the role of a group's members.
type GroupRole struct {
	Group     string   `yaml:"group" required:"true" doc:"Name of the group, as the provider writes it."`
	Role      string   `yaml:"role" required:"true" enum:"viewer,sensor,runner,operator,admin" doc:"The role of its members."`
	Pipelines []string `yaml:"pipelines" doc:"Patterns of the pipelines they are limited to; not for admin."`
}

// Sessions configures how long a browser stays logged in.
type Sessions struct {
	Lifetime document.Duration `yaml:"lifetime" default:"7d" min:"5m" max:"90d" doc:"Maximum time from login until the browser must log in again."`
	Idle     document.Duration `yaml:"idle" default:"24h" min:"5m" max:"90d" doc:"A session ends after this time without a request. An open dashboard sends requests."`
}

// Token is one bearer token, which is stored in an environment variable or a file.
type Token struct {
	Name      string   `yaml:"name" required:"true" doc:"The client's name, shown as the actor in the audit record."`
	Role      string   `yaml:"role" required:"true" enum:"viewer,sensor,runner,operator,admin" doc:"The role, which says what it may do."`
	Pipelines []string `yaml:"pipelines" doc:"Patterns of the pipelines the token is limited to, such as silver-*; not for admin."`
	TokenEnv  string   `yaml:"tokenEnv" doc:"Environment variable with the token."`
	TokenFile string   `yaml:"tokenFile" doc:"File with the token."`
}

// Egress lists what outgoing HTTP may reach besides public addresses.
type Egress struct {
	Allow []string `yaml:"allow" doc:"Host names, IP addresses and CIDR blocks."`
}

// Secrets lists what job configs may read.
type Secrets struct {
	Env   []string `yaml:"env" doc:"Names of environment variables."`
	Files []string `yaml:"files" doc:"Files, and directories of files."`
	// Both are read with the AWS credentials of the process.
	SecretsManager []string `yaml:"secretsManager" doc:"Secrets of AWS Secrets Manager, by name or ARN; a trailing * matches any suffix."`
	SSM            []string `yaml:"ssm" doc:"Parameters of AWS Systems Manager, by name; a trailing * matches any suffix."`
}

// Jobs configures how programs run on the server's own machine.
type Jobs struct {
	Command string `yaml:"command" default:"on" enum:"on,off" doc:"off: reject pipelines that run programs on the server's machine."`
	User    string `yaml:"user" doc:"The user that runs programs, by name or number; default the server's user. Needs root, or CAP_SETUID, CAP_SETGID and CAP_KILL."`
	// The limits apply to one job of type command and all its processes together.
	Memory    document.Size `yaml:"memory" default:"0" doc:"Maximum memory of one command and its processes; default three quarters of the machine's memory."`
	Processes int           `yaml:"processes" default:"2048" min:"0" doc:"Maximum number of processes and threads of one command; 0 is no limit."`
	Output    document.Size `yaml:"output" default:"4GiB" doc:"Maximum output of one command; 0 is no limit. The last 64 KiB are kept."`
	Cgroup    string        `yaml:"cgroup" default:"auto" doc:"Parent of the commands' control groups (version 2): auto for the one that systemd delegated, a directory, or off."`
}

// HTTP configures how requests arrive.
type HTTP struct {
	TrustedProxies []string `yaml:"trustedProxies" doc:"Addresses and CIDR blocks of reverse proxies whose X-Forwarded-Proto and X-Forwarded-For headers are trusted."`
}

// Networks returns the proxies as networks.
func (h HTTP) Networks() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range h.TrustedProxies {
		if network, err := parseNetwork(text); err == nil {
			networks = append(networks, network)
		}
	}
	return networks
}

// parseNetwork parses a CIDR block, or an address, which is a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	return netip.PrefixFrom(addr, addr.BitLen()), err
}

// Sensors configures which readings are accepted.
type Sensors struct {
	MaxFuture document.Duration `yaml:"maxFuture" default:"400d" min:"1d" doc:"How far in the future a reading's date may be. A later date is rejected as a typing error."`
}

// Limits are the quotas of each pipeline, and of connections.
type Limits struct {
	SensorKeys            int           `yaml:"sensorKeys" default:"10000" min:"1" doc:"Maximum number of sensor keys per pipeline; a write to another key is rejected."`
	SensorBytes           document.Size `yaml:"sensorBytes" default:"256MiB" doc:"Maximum total size of a pipeline's latest readings; a write beyond it is rejected. 0 is no limit."`
	Connections           int           `yaml:"connections" default:"4096" min:"16" doc:"Maximum number of connections to the HTTP API; fewer if the limit on open files is lower."`
	ConnectionsPerAddress int           `yaml:"connectionsPerAddress" default:"1024" min:"1" doc:"Maximum number of connections from one address."`

	OpenRuns        int           `yaml:"openRuns" default:"20000" min:"1" doc:"Maximum number of open runs per pipeline; a request that would open another is rejected."`
	WriteBytes      document.Size `yaml:"writeBytes" default:"256MiB" doc:"How many bytes an hour clients may write to one pipeline, after at most as many at once; a write beyond it is rejected until later. 0 is no limit."`
	TokenWriteBytes document.Size `yaml:"tokenWriteBytes" default:"1GiB" doc:"How many bytes an hour one token may write to all pipelines, after at most as many at once; a write beyond it is rejected until later. 0 is no limit."`
}

// Engine configures the engine.
type Engine struct {
	Workers            int               `yaml:"workers" default:"8" min:"1" max:"1024" doc:"Concurrent tasks per class: steps of attempts, timers, and starts of runs that open with their gate open. Also the concurrent calls to the targets of one job type."`
	BlockingStarts     int               `yaml:"blockingStarts" default:"128" min:"1" max:"4096" doc:"Concurrent start calls that last as long as the job: http without callback, lambda without async."`
	ProbeWorkers       int               `yaml:"probeWorkers" default:"4" min:"1" max:"256" doc:"Concurrent probes."`
	Lease              document.Duration `yaml:"lease" default:"30s" min:"1s" max:"1h" doc:"How long a task stays leased without a renewal. The timeout of a start call is half of it."`
	LostAfter          document.Duration `yaml:"lostAfter" default:"10m" min:"1s" doc:"How long a replica must be missing before another may claim its tasks."`
	RunTimeout         document.Duration `yaml:"runTimeout" default:"4h" min:"1s" doc:"Maximum time of an attempt, unless its windows need more."`
	TriggerMaxAttempts int               `yaml:"triggerMaxAttempts" default:"3" min:"1" max:"100" doc:"Maximum number of start calls if the target refuses them."`
	TriggerBackoff     document.Duration `yaml:"triggerBackoff" default:"30s" min:"0s" doc:"Wait after the first refused start call; it doubles after each."`
}

// Watchdog configures the watchdog.
type Watchdog struct {
	Interval     document.Duration `yaml:"interval" default:"1m" min:"1s" doc:"Time between two watchdog passes."`
	HeartbeatURL string            `yaml:"heartbeatURL" doc:"URL to call after each successful pass."`
}

// Metrics configures /metrics.
type Metrics struct {
	PerPipeline bool `yaml:"perPipeline" doc:"Add three series per pipeline: last success, deadline state, and since when a run has been open."`
}

// Alerts configures alert destinations.
type Alerts struct {
	Slack     *Slack     `yaml:"slack" doc:"A Slack channel."`
	Webhooks  []Webhook  `yaml:"webhooks" doc:"Webhooks: signed CloudEvents JSON, or a template body."`
	PagerDuty *PagerDuty `yaml:"pagerduty" doc:"A PagerDuty service."`
	Email     *Email     `yaml:"email" doc:"E-mail over SMTP."`

	Alertmanager *Alertmanager `yaml:"alertmanager" doc:"A Prometheus Alertmanager."`

	Routes      []Route       `yaml:"routes" doc:"Which events go to which sinks; the first match applies. Without routes, events of severity warning and above go to all sinks."`
	Default     *DefaultRoute `yaml:"default" doc:"Sinks for events that no route matches; default none."`
	BaseURL     string        `yaml:"baseURL" doc:"Public URL of the server, for links in alerts."`
	Concurrency int           `yaml:"concurrency" default:"4" min:"1" max:"256" doc:"Concurrent alerts per sink. Alerts of one pipeline are sent in order."`
}

// Archive is long-term storage in Postgres.
type Archive struct {
	DSNEnv   string            `yaml:"dsnEnv" doc:"Environment variable with the connection string."`
	Interval document.Duration `yaml:"interval" default:"5m" min:"1s" doc:"Time between two copies."`
}

// Archiver is the older form of Archive.
type Archiver struct {
	Enabled  bool              `yaml:"enabled" default:"true" doc:"Whether the archive is on."`
	Interval document.Duration `yaml:"interval" default:"5m" min:"1s" doc:"Time between two copies."`
	DSN      string            `yaml:"dsn" doc:"The connection string. Prefer an environment variable: see archive.dsnEnv."`
}

// Redis is the Redis store.
type Redis struct {
	Addr           string            `yaml:"addr" doc:"host:port."`
	Password       string            `yaml:"password" doc:"Must be empty: see passwordEnv."`
	PasswordEnv    string            `yaml:"passwordEnv" doc:"Environment variable with the password."`
	DB             int               `yaml:"db" default:"0" min:"0" doc:"The database number."`
	KeyPrefix      string            `yaml:"keyPrefix" default:"interlock" pattern:"^[A-Za-z0-9._-]+$" hint:"use letters, digits, dots, dashes and underscores" doc:"First part of every key."`
	ReadinessTTL   document.Duration `yaml:"readinessTTL" default:"1h" min:"1s" doc:"TTL of the key with a pipeline's last gate verdict, for other readers of Redis."`
	RetentionTTL   document.Duration `yaml:"retentionTTL" default:"168h" min:"1h" doc:"How long finished work is kept."`
	RunIndexLimit  int               `yaml:"runIndexLimit" default:"100" min:"1" doc:"Runs kept in a pipeline's index."`
	EventStreamMax int               `yaml:"eventStreamMax" default:"10000" min:"100" doc:"Events kept per pipeline."`
}

// Retention is how long history is kept.
type Retention struct {
	Events  document.Duration `yaml:"events" default:"90d" min:"5m" doc:"How long events are kept."`
	History document.Duration `yaml:"history" default:"30d" min:"5m" doc:"How long the history of readings is kept."`
	JobLog  document.Duration `yaml:"jobLog" default:"30d" min:"5m" doc:"How long job logs and output are kept."`
	Audit   document.Duration `yaml:"audit" default:"365d" min:"1d" doc:"How long audit entries are kept. A change applies to new entries only."`
	Runs    document.Duration `yaml:"runs" default:"0s" doc:"How long ended runs are kept, at least 100d; 0s means forever."`

	EventsBytes  document.Size `yaml:"eventsBytes" default:"0" doc:"Size of the stored events beyond which the oldest are deleted early, at least 1MiB; 0 is no limit."`
	HistoryBytes document.Size `yaml:"historyBytes" default:"0" doc:"Size of the history of readings beyond which the oldest are deleted early, at least 1MiB; 0 is no limit."`
}

// Data is the data directory: either a path, or a mapping of path and reserve.
type Data struct {
	Dir     string
	Reserve document.Size
}

// dataKeys is the longer form.
type dataKeys struct {
	Dir     string        `yaml:"dir" default:"./interlock-data" doc:"The directory."`
	Reserve document.Size `yaml:"reserve" default:"64MiB" doc:"Disk space reserved so that deadlines and alerts work while the disk is full; 0 for none."`
}

func (d *Data) DecodeNode(n document.Node) []document.Finding {
	var keys dataKeys
	if n.Kind() != document.Map {
		if n.Kind() == document.Null || n.Kind() > document.String {
			return []document.Finding{{Message: "expected a directory, or dir and reserve, found " + n.Describe()}}
		}
		document.Node{}.Decode(&keys) // sets the default of the reserve
		keys.Dir = n.Text()
	} else if findings := n.Decode(&keys); len(findings) > 0 {
		return findings
	}
	*d = Data(keys)
	return nil
}

func (Data) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, document.Fragment(dataKeys{})}}
}
