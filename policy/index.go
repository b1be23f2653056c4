package policy

import (
	"cmp"
	"slices"
	"strings"
)

// index finds the rules whose key is, or has a glob that matches, a name. Rules of
// one key share a bucket. A key such as "mcp__git__*" is found by its text before
// the star, so that a call costs one look-up for each length of such texts and
// not one for each key.
type index struct {
	exact    map[string]*bucket
	prefixes map[string]*bucket
	lengths  []int // of the keys of prefixes, longest first
	globs    []*globBucket
	byGlob   map[string]*globBucket
}

type globBucket struct {
	bucket
	key     string
	pattern starMatcher
}

func (x *index) add(r *rule) {
	if x.exact == nil {
		x.exact, x.prefixes, x.byGlob = map[string]*bucket{}, map[string]*bucket{}, map[string]*globBucket{}
	}
	key := r.row.ResourceKey
	switch star := strings.IndexByte(key, '*'); {
	case star < 0:
		bucketIn(x.exact, key).add(r)
	case star == len(key)-1:
		bucketIn(x.prefixes, key[:star]).add(r)
	default:
		x.globBucket(key).add(r)
	}
}

func bucketIn[K comparable](buckets map[K]*bucket, key K) *bucket {
	b := buckets[key]
	if b == nil {
		b = &bucket{}
		buckets[key] = b
	}
	return b
}

func (x *index) globBucket(key string) *globBucket {
	b := x.byGlob[key]
	if b == nil {
		b = &globBucket{key: key, pattern: parseStars(key)}
		x.byGlob[key] = b
		x.globs = append(x.globs, b)
	}
	return b
}

// finish is called once, after the last add.
func (x *index) finish() {
	for prefix := range x.prefixes {
		if !slices.Contains(x.lengths, len(prefix)) {
			x.lengths = append(x.lengths, len(prefix))
		}
	}
	slices.SortFunc(x.lengths, func(a, b int) int { return b - a })
	slices.SortFunc(x.globs, func(a, b *globBucket) int {
		return cmp.Or(len(b.key)-len(a.key), strings.Compare(a.key, b.key))
	})
	x.byGlob = nil
	for _, b := range x.exact {
		b.finish()
	}
	for _, b := range x.prefixes {
		b.finish()
	}
	for _, b := range x.globs {
		b.finish()
	}
}

// find appends the buckets for a name, the most specific first: the name itself,
// then globs that end in their only star, longest first, then other globs.
func (x *index) find(found []*bucket, name string) []*bucket {
	if b := x.exact[name]; b != nil {
		found = append(found, b)
	}
	for _, n := range x.lengths {
		if n > len(name) {
			continue
		}
		if b := x.prefixes[name[:n]]; b != nil {
			found = append(found, b)
		}
	}
	for _, g := range x.globs {
		if g.pattern.matches(name) {
			found = append(found, &g.bucket)
		}
	}
	return found
}
