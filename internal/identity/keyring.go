package identity

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/bcrypt"

	"holm/internal/fault"
	"holm/internal/wake"
)

// KeysChanged is published after any change of keys, so that every process
// forgets what it remembered.
const KeysChanged = "keys"

// rememberFor bounds how long a proven key is believed without a look at its
// row, should a notice be lost: a revoked key dies within a second.
const rememberFor = time.Second

// Caller is who a valid key speaks for.
type Caller struct {
	AgentID   string
	KeyPrefix string
	// UserID is the user the key is bound to, empty for a bare key.
	UserID string
	// OnBehalf tells that the key is bare and UserID the person in whose session
	// the call is made: a program of the agent works for them, and they are not
	// the ones who speak.
	OnBehalf bool
}

// RequesterID is who asks: the bound user, or the agent itself.
func (c Caller) RequesterID() string {
	if c.UserID != "" {
		return c.UserID
	}
	return AgentRequester(c.AgentID)
}

// AgentRequester is the requester id of calls made with a bare key.
func AgentRequester(agentID string) string { return "agent:" + agentID }

// Keyring proves keys. bcrypt is paid once for a key; afterwards a keyed hash
// of its text is compared, for as long as its row says the same.
type Keyring struct {
	pool   *pgxpool.Pool
	macKey []byte

	mu     sync.Mutex
	proven map[string]provenKey

	failures *throttle
	attempts *attempts
}

type provenKey struct {
	caller Caller
	// refused is why the key is of no use although it is proven; nil while it is.
	refused error
	hash    string
	mac     []byte
	checked time.Time
}

// NewKeyring makes an empty Keyring.
func NewKeyring(pool *pgxpool.Pool) *Keyring {
	key := make([]byte, 32)
	rand.Read(key)
	return &Keyring{pool: pool, macKey: key, proven: map[string]provenKey{}, failures: newThrottle(), attempts: newAttempts()}
}

// Run forgets proven keys whenever keys change anywhere, until ctx ends.
func (k *Keyring) Run(ctx context.Context, hub *wake.Hub) error {
	waiter := hub.Wait(KeysChanged)
	defer waiter.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-waiter.C:
			k.Forget()
		}
	}
}

// Forget drops all that is remembered; the next call of each key reads its row.
func (k *Keyring) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for prefix, p := range k.proven {
		p.checked = time.Time{}
		k.proven[prefix] = p
	}
}

var errKey = fault.New(fault.Unauthenticated, "invalid_key", "the access key is not valid")

// Authenticate gives the caller of a key. One that is bound to a person is of use
// while they have a role with its agent; else it is Forbidden, with code no_role. addr, the network address of the
// caller, is throttled after repeated failures.
func (k *Keyring) Authenticate(ctx context.Context, text, addr string) (Caller, error) {
	mac := k.mac(text)
	prefix, ok := keyPrefix(text)
	if !ok {
		return Caller{}, k.refuse(ctx, addr, "", mac)
	}
	k.mu.Lock()
	known, ok := k.proven[prefix]
	k.mu.Unlock()
	proven := ok && hmac.Equal(known.mac, mac)
	if proven && time.Since(known.checked) < rememberFor {
		return known.caller, known.refused
	}
	// Who has proven the key guesses nothing, and does not suffer for a
	// neighbour behind the same address; nor does the neighbour guess who sends
	// the same wrong key over and over.
	if !proven && k.failures.refused(addr, mac, time.Now()) {
		return Caller{}, k.refuse(ctx, addr, prefix, mac)
	}
	if !proven && k.failures.blocked(addr) {
		k.attempts.record(ctx, k.pool, addr, "key", prefix)
		return Caller{}, fault.New(fault.Unauthenticated, "throttled", "too many failed attempts from this address; wait a minute")
	}
	caller, member, hash, err := k.read(ctx, prefix)
	if errors.Is(err, pgx.ErrNoRows) {
		return Caller{}, k.refuse(ctx, addr, prefix, mac)
	}
	if err != nil {
		return Caller{}, fmt.Errorf("read key: %w", err)
	}
	if !proven || known.hash != hash {
		if bcrypt.CompareHashAndPassword([]byte(hash), []byte(text)) != nil {
			return Caller{}, k.refuse(ctx, addr, prefix, mac)
		}
	}
	var refused error
	if !member {
		refused = fault.New(fault.Forbidden, "no_role", "the access key is bound to a person who has no role with agent %q any more", caller.AgentID)
		caller = Caller{}
	}
	k.mu.Lock()
	k.proven[prefix] = provenKey{caller: caller, refused: refused, hash: hash, mac: mac, checked: time.Now()}
	k.mu.Unlock()
	return caller, refused
}

func (k *Keyring) refuse(ctx context.Context, addr, prefix string, mac []byte) error {
	k.failures.count(addr, mac, time.Now())
	k.attempts.record(ctx, k.pool, addr, "key", prefix)
	return errKey
}

// Refused puts a failed attempt with another credential than a key on record,
// at the rate of those with keys.
func (k *Keyring) Refused(ctx context.Context, addr, credential string) {
	k.attempts.record(ctx, k.pool, addr, credential, "")
}

func (k *Keyring) mac(text string) []byte {
	mac := hmac.New(sha256.New, k.macKey)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// read finds the live row of a prefix, following merged users. member is false for
// a key of somebody who has no role with the agent.
func (k *Keyring) read(ctx context.Context, prefix string) (c Caller, member bool, hash string, err error) {
	err = k.pool.QueryRow(ctx, `
		SELECT k.agent_id, k.prefix, COALESCE(u.merged_into, u.id, ''), k.hash,
		       u.id IS NULL OR EXISTS (
		           SELECT
		           FROM agent_members m
		           JOIN users every ON every.id = m.user_id
		           WHERE m.agent_id = k.agent_id
		             AND COALESCE(every.merged_into, every.id) = COALESCE(u.merged_into, u.id)
		       )
		FROM agent_keys k
		LEFT JOIN users u ON u.id = k.user_id
		WHERE k.prefix = $1
		  AND k.revoked_at IS NULL
		  AND (k.expires_at IS NULL OR k.expires_at > now())`, prefix).
		Scan(&c.AgentID, &c.KeyPrefix, &c.UserID, &hash, &member)
	return c, member, hash, err
}

// prefixText is the alphabet of newPrefix: nothing else reaches the database.
var prefixText = regexp.MustCompile(`^[a-z2-7]{8}$`)

// keyPrefix finds the prefix in holm_sk_<prefix>_<secret>, or the beginning of an
// imported key. A key longer than
// bcrypt can read (72 bytes) is none of ours.
func keyPrefix(text string) (string, bool) {
	if importedText.MatchString(text) {
		return text[:importedPrefix], true
	}
	rest, ok := strings.CutPrefix(text, KeyScheme)
	if !ok || len(text) > 72 {
		return "", false
	}
	prefix, secret, ok := strings.Cut(rest, "_")
	return prefix, ok && prefixText.MatchString(prefix) && secret != ""
}
