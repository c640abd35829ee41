// Package settings is the server's file, interlock.yaml: its address and data, who may use it, what its jobs may
// reach, and its timeouts. It interprets the file; flags, environment and wiring are in cmd/interlock. The file never
// contains secrets: it names environment variables and files that hold them.
package settings

import (
	"net/netip"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// File is the server's file. Every key is optional.
type File struct {
	Listen      string              `yaml:"listen" default:"127.0.0.1:8740" doc:"Address of the HTTP API, or unix:PATH for a socket; any other than loopback or a socket needs tokens."`
	SocketMode  string              `yaml:"socketMode" default:"0600" enum:"0600,0660" doc:"Mode of the socket that unix:PATH makes: for the server's own user, or for its group as well."`
	TLS         TLS                 `yaml:"tls" doc:"Serve HTTPS."`
	CallbackURL string              `yaml:"callbackURL" doc:"Address under which jobs reach the server, to report their results: that of a load balancer, say. Default: its own."`
	Data        Data                `yaml:"data" default:"./interlock-data" doc:"Directory of the embedded store and of running commands; dir and reserve where the reserve is another."`
	Store       string              `yaml:"store" default:"sqlite" doc:"sqlite, or redis://host:6379/0."`
	Pipelines   document.TextOrList `yaml:"pipelines" doc:"Files and directories of pipelines; default ./pipelines."`
	Calendars   document.TextOrList `yaml:"calendars" doc:"Files and directories of calendars; default ./calendars."`
	Archetypes  document.TextOrList `yaml:"archetypes" doc:"Files and directories of archetypes; default ./archetypes."`
	Sources     document.TextOrList `yaml:"sources" doc:"Files and directories of sources; default ./sources."`
	Auth        Auth                `yaml:"auth" doc:"Who may use the API."`
	Egress      Egress              `yaml:"egress" doc:"Exceptions to the guard on outgoing HTTP."`
	Secrets     Secrets             `yaml:"secrets" doc:"What ${env:…} and ${file:…} may read."`
	Jobs        Jobs                `yaml:"jobs" doc:"How programs run on the server's own machine: jobs of type command, and probes that are commands."`
	HTTP        HTTP                `yaml:"http" doc:"How requests arrive."`
	Sensors     Sensors             `yaml:"sensors" doc:"What readings are accepted."`
	Limits      Limits              `yaml:"limits" doc:"How much one pipeline, and one client, may use."`
	Engine      Engine              `yaml:"engine" doc:"How work is done."`
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
	RequireClientCert bool   `yaml:"requireClientCert" doc:"Refuse connections without a client certificate, also with a token."`
}

// Auth configures who may use the API.
type Auth struct {
	Tokens          []Token       `yaml:"tokens" doc:"Bearer tokens and what they may do."`
	Certificates    []Certificate `yaml:"certificates" doc:"Client certificates and what they may do; needs tls.clientCA."`
	OIDC            *OIDC         `yaml:"oidc" doc:"Login to the dashboard at an OpenID Connect provider."`
	Sessions        Sessions      `yaml:"sessions" doc:"Browsers that are logged in to the dashboard."`
	StreamsPerToken int           `yaml:"streamsPerToken" default:"64" min:"1" max:"256" doc:"Event streams that one token may have open at once, its sessions included."`
}

// Certificate is a client certificate, by its subject or one of its alternative names.
type Certificate struct {
	Name      string   `yaml:"name" required:"true" doc:"The client; recorded as who did something."`
	Role      string   `yaml:"role" required:"true" enum:"viewer,sensor,runner,operator,admin" doc:"What it may do."`
	Pipelines []string `yaml:"pipelines" doc:"Patterns of the pipelines the certificate is limited to; not for admin."`
	Subject   string   `yaml:"subject" doc:"The whole subject, such as CN=etl,O=Data."`
	SAN       string   `yaml:"san" doc:"A DNS name, URI, e-mail or IP address among its alternative names."`
}

// OIDC is an OpenID Connect provider, and the roles of its users' groups.
type OIDC struct {
	Issuer           string      `yaml:"issuer" required:"true" doc:"Address of the provider, below which it has /.well-known/openid-configuration."`
	ClientID         string      `yaml:"clientID" required:"true" doc:"Name of this server at the provider."`
	ClientSecretEnv  string      `yaml:"clientSecretEnv" doc:"Environment variable with the client secret; a public client has none."`
	ClientSecretFile string      `yaml:"clientSecretFile" doc:"File with the client secret."`
	RedirectURL      string      `yaml:"redirectURL" required:"true" doc:"Address of this server that the provider sends browsers back to; it ends in /api/v1/session/oidc/callback."`
	Scopes           []string    `yaml:"scopes" doc:"The scopes to request; default openid, profile, email and groups."`
	NameClaim        string      `yaml:"nameClaim" default:"email" doc:"Claim of the ID token that names the user."`
	GroupsClaim      string      `yaml:"groupsClaim" default:"groups" doc:"Claim of the ID token that lists the user's groups."`
	Label            string      `yaml:"label" default:"Log in with single sign-on" doc:"Button on the login page."`
	Roles            []GroupRole `yaml:"roles" required:"true" doc:"What groups may do; the first that a user is in counts."`
}

// GroupRole is the role of a group's members.
type GroupRole struct {
	Group     string   `yaml:"group" required:"true" doc:"Name of the group, as the provider writes it."`
	Role      string   `yaml:"role" required:"true" enum:"viewer,sensor,runner,operator,admin" doc:"What its members may do."`
	Pipelines []string `yaml:"pipelines" doc:"Patterns of the pipelines they are limited to; not for admin."`
}

// Sessions configures how long a browser stays logged in.
type Sessions struct {
	Lifetime document.Duration `yaml:"lifetime" default:"7d" min:"5m" max:"90d" doc:"From login; then the browser has to log in again."`
	Idle     document.Duration `yaml:"idle" default:"24h" min:"5m" max:"90d" doc:"After this long without a request a session ends. An open dashboard makes requests."`
}

// Token is one bearer token, which is stored in an environment variable or a file.
type Token struct {
	Name      string   `yaml:"name" required:"true" doc:"Who it is for; shown as who did something."`
	Role      string   `yaml:"role" required:"true" enum:"viewer,sensor,runner,operator,admin" doc:"What it may do."`
	Pipelines []string `yaml:"pipelines" doc:"Patterns of the pipelines the token is limited to, such as silver-*; not for admin."`
	TokenEnv  string   `yaml:"tokenEnv" doc:"Environment variable with the token."`
	TokenFile string   `yaml:"tokenFile" doc:"File with the token."`
}

// Egress lists what outgoing HTTP may reach besides public addresses.
type Egress struct {
	Allow []string `yaml:"allow" doc:"Host names, addresses and CIDR blocks."`
}

// Secrets lists what job configs may read.
type Secrets struct {
	Env   []string `yaml:"env" doc:"Names of environment variables."`
	Files []string `yaml:"files" doc:"Files, and directories of files."`
	// Both are read with the AWS credentials of the process.
	SecretsManager []string `yaml:"secretsManager" doc:"Secrets of AWS Secrets Manager, by name or ARN; one that ends in * stands for all that begin so."`
	SSM            []string `yaml:"ssm" doc:"Parameters of AWS Systems Manager, by name; one that ends in * stands for all that begin so."`
}

// Jobs configures how programs run on the server's own machine.
type Jobs struct {
	Command string `yaml:"command" default:"on" enum:"on,off" doc:"Whether they run at all; off rejects pipelines that have one."`
	User    string `yaml:"user" doc:"The user who runs them, by name or number; default the server's own. Needs root, or CAP_SETUID, CAP_SETGID and CAP_KILL."`
	// The limits apply to one job of type command and all its processes together.
	Memory    document.Size `yaml:"memory" default:"0" doc:"The most memory that one command and its processes may use; default three quarters of the machine's memory."`
	Processes int           `yaml:"processes" default:"2048" min:"0" doc:"The most processes and threads that one command may run; 0: no limit."`
	Output    document.Size `yaml:"output" default:"4GiB" doc:"The most that one command may print; 0: no limit. The last 64 KiB are kept."`
	Cgroup    string        `yaml:"cgroup" default:"auto" doc:"Where commands get their own control groups (version 2): auto for one that systemd has delegated, a directory, or off."`
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
	MaxFuture document.Duration `yaml:"maxFuture" default:"400d" min:"1d" doc:"How far ahead a reading may be dated; one further ahead is rejected as a mistyped date."`
}

// Limits are the quotas of each pipeline, and of connections.
type Limits struct {
	SensorKeys            int           `yaml:"sensorKeys" default:"10000" min:"1" doc:"Sensor keys of a pipeline; a write to a further key is refused."`
	SensorBytes           document.Size `yaml:"sensorBytes" default:"256MiB" doc:"Bytes of the latest readings of all sensor keys of a pipeline; a write beyond is refused."`
	Connections           int           `yaml:"connections" default:"4096" min:"16" doc:"Connections to the HTTP API at once; fewer if the process may not have enough open files."`
	ConnectionsPerAddress int           `yaml:"connectionsPerAddress" default:"1024" min:"1" doc:"Connections from one address at once."`

	OpenRuns int `yaml:"openRuns" default:"20000" min:"1" doc:"Runs of a pipeline that have not ended; a request that would open a further one is refused."`
}

// Engine configures the engine.
type Engine struct {
	Workers            int               `yaml:"workers" default:"8" min:"1" max:"1024" doc:"Tasks of one class carried out at once: steps of attempts, timers, and starts of runs that open with their gate open. Also calls made at once to the targets of one job type."`
	BlockingStarts     int               `yaml:"blockingStarts" default:"128" min:"1" max:"4096" doc:"Start calls under way at once that are the job itself: http without callback, lambda without async."`
	ProbeWorkers       int               `yaml:"probeWorkers" default:"4" min:"1" max:"256" doc:"Probes asked at once."`
	Lease              document.Duration `yaml:"lease" default:"30s" min:"1s" max:"1h" doc:"How long a task is held without a sign of life; a start call gets half of it."`
	LostAfter          document.Duration `yaml:"lostAfter" default:"10m" min:"1s" doc:"After this long another replica may claim the tasks of a replica that is missing."`
	RunTimeout         document.Duration `yaml:"runTimeout" default:"4h" min:"1s" doc:"Longest time of an attempt, unless its windows need more."`
	TriggerMaxAttempts int               `yaml:"triggerMaxAttempts" default:"3" min:"1" max:"100" doc:"How often a refused start is made in all."`
	TriggerBackoff     document.Duration `yaml:"triggerBackoff" default:"30s" min:"0s" doc:"Wait after the first refusal, doubled after each."`
}

// Watchdog configures the watchdog.
type Watchdog struct {
	Interval     document.Duration `yaml:"interval" default:"1m" min:"1s" doc:"Time between two passes."`
	HeartbeatURL string            `yaml:"heartbeatURL" doc:"Pinged after each healthy pass."`
}

// Metrics configures /metrics.
type Metrics struct {
	PerPipeline bool `yaml:"perPipeline" doc:"Show three more series for each pipeline: its last success, its deadlines, and since when a run is open."`
}

// Alerts configures alert destinations.
type Alerts struct {
	Slack     *Slack     `yaml:"slack" doc:"A Slack channel."`
	Webhooks  []Webhook  `yaml:"webhooks" doc:"Webhooks: signed CloudEvents JSON, or a body by template."`
	PagerDuty *PagerDuty `yaml:"pagerduty" doc:"A PagerDuty service."`
	Email     *Email     `yaml:"email" doc:"Mail by SMTP."`

	Alertmanager *Alertmanager `yaml:"alertmanager" doc:"A Prometheus Alertmanager."`

	Routes      []Route       `yaml:"routes" doc:"Which events go where, by the first that fits; without routes, warning and above go everywhere."`
	Default     *DefaultRoute `yaml:"default" doc:"Where events go that no route matches; default nowhere."`
	BaseURL     string        `yaml:"baseURL" doc:"Address under which people reach the server, for links in alerts."`
	Concurrency int           `yaml:"concurrency" default:"4" min:"1" max:"256" doc:"Alerts sent to one sink at once; those of one pipeline are sent one after the other."`
}

// Archive is long-term storage in Postgres.
type Archive struct {
	DSNEnv   string            `yaml:"dsnEnv" doc:"Environment variable with the connection string."`
	Interval document.Duration `yaml:"interval" default:"5m" min:"1s" doc:"Time between two copies."`
}

// Archiver is the older form of Archive.
type Archiver struct {
	Enabled  bool              `yaml:"enabled" default:"true" doc:"Whether it runs."`
	Interval document.Duration `yaml:"interval" default:"5m" min:"1s" doc:"Time between two copies."`
	DSN      string            `yaml:"dsn" doc:"The connection string; better in an environment variable, see archive.dsnEnv."`
}

// Redis is the Redis store.
type Redis struct {
	Addr           string            `yaml:"addr" doc:"host:port."`
	Password       string            `yaml:"password" doc:"Must be empty: see passwordEnv."`
	PasswordEnv    string            `yaml:"passwordEnv" doc:"Environment variable with the password."`
	DB             int               `yaml:"db" default:"0" min:"0" doc:"The database's number."`
	KeyPrefix      string            `yaml:"keyPrefix" default:"interlock" pattern:"^[A-Za-z0-9._-]+$" hint:"use letters, digits, dots, dashes and underscores" doc:"First part of every key."`
	ReadinessTTL   document.Duration `yaml:"readinessTTL" default:"1h" min:"1s" doc:"How long the last verdict on a pipeline's gate is shown to others who read Redis."`
	RetentionTTL   document.Duration `yaml:"retentionTTL" default:"168h" min:"1h" doc:"How long finished work is kept."`
	RunIndexLimit  int               `yaml:"runIndexLimit" default:"100" min:"1" doc:"Runs kept in a pipeline's index."`
	EventStreamMax int               `yaml:"eventStreamMax" default:"10000" min:"100" doc:"Events kept per pipeline."`
}

// Retention is how long history is kept.
type Retention struct {
	Events  document.Duration `yaml:"events" default:"90d" min:"1h" doc:"Events."`
	History document.Duration `yaml:"history" default:"30d" min:"1h" doc:"Readings."`
	JobLog  document.Duration `yaml:"jobLog" default:"30d" min:"1h" doc:"Job log and output."`
	Audit   document.Duration `yaml:"audit" default:"365d" min:"1d" doc:"The audit record. A change applies to entries that are written afterwards."`
}

// Data is the data directory: either a path, or a mapping of path and reserve.
type Data struct {
	Dir     string
	Reserve document.Size
}

// dataKeys is the longer form.
type dataKeys struct {
	Dir     string        `yaml:"dir" default:"./interlock-data" doc:"The directory."`
	Reserve document.Size `yaml:"reserve" default:"64MiB" doc:"Disk space reserved for deadlines and alerts while the disk is full; 0 for none."`
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
