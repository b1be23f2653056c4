// Package secret seals values at rest and signs tokens with keys derived from
// the operator's HOLM_SECRET_KEY. It holds no data of its own.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// Keeper seals and signs. Make it with New.
type Keeper struct {
	aead   cipher.AEAD
	macKey []byte
}

// version is the first byte of each sealed value; another key or algorithm
// will take another number.
const version = 1

// New derives the keys from master, the secret as configured: at least 16
// bytes of any text.
func New(master string) (*Keeper, error) {
	if len(master) < 16 {
		return nil, errors.New("the secret key must have at least 16 characters")
	}
	sealKey, err := hkdf.Key(sha256.New, []byte(master), nil, "holm seal v1", 32)
	if err != nil {
		return nil, err
	}
	macKey, err := hkdf.Key(sha256.New, []byte(master), nil, "holm mac v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sealKey)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Keeper{aead: aead, macKey: macKey}, nil
}

// Seal encrypts plain for the row named by owner, e.g. "servers/git": a value
// copied to another row does not open.
func (k *Keeper) Seal(owner string, plain []byte) []byte {
	return k.aead.Seal([]byte{version}, nil, plain, []byte(owner))
}

// Open decrypts what Seal made for the same owner.
func (k *Keeper) Open(owner string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != version {
		return nil, fmt.Errorf("open %s: sealed by an unknown version", owner)
	}
	plain, err := k.aead.Open(nil, nil, sealed[1:], []byte(owner))
	if err != nil {
		return nil, fmt.Errorf("open %s: the secret key is not the one it was sealed with", owner)
	}
	return plain, nil
}

// MAC signs the parts, each with its length, so that no two lists of parts
// sign alike. The result has 32 bytes.
func (k *Keeper) MAC(parts ...string) []byte {
	mac := hmac.New(sha256.New, k.macKey)
	for _, part := range parts {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return mac.Sum(nil)
}

// Token is a new random secret of 32 base64url characters (192 bits).
func Token() string {
	b := make([]byte, 24)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Hash is how a random Token is stored: it has enough entropy of its own to
// need neither salt nor a slow hash.
func Hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
