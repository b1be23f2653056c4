package client

import "holm/policy"

// Policy is a row to be stored.
type Policy struct {
	ResourceType string         `json:"resourceType"`
	ResourceKey  string         `json:"resourceKey"`
	Effect       policy.Effect  `json:"effect"`
	Grants       []policy.Grant `json:"grants"`
	Scope        policy.Scope   `json:"scope"`
}
