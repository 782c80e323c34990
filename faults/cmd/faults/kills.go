package main

import (
	"context"
	"errors"
	"maps"

	"github.com/toolharness/harness/faults/inject"
	"github.com/toolharness/harness/faults/internal/workers"
	"github.com/toolharness/harness/faults/kill"
	"github.com/toolharness/harness/faults/report"
)

// roles are what this program does when it is started as its own child.
func roles() map[string]workers.Role {
	all := map[string]workers.Role{kill.RoleName: kill.Work, kill.FrozenRole: kill.WorkFrozen}
	maps.Copy(all, inject.Roles())
	return all
}

// killSection is the name that the lines of package kill carry.
const killSection = "kill"

// kills are processes that are killed, and frozen, in the middle of their calls.
func kills(s inject.Selection) report.Section {
	return report.Section{Name: killSection, Run: func(ctx context.Context, b *report.Bench) error {
		if s.Only != nil && !s.Only.MatchString(killSection+" ") {
			return nil
		}
		dead, frozen := 100, 24
		if b.Full {
			dead, frozen = 2000, 200
		}
		args := []string{"--appendonly", "yes", "--appendfsync", "everysec"}
		err := inject.WithServer(args, func(addr string, restart func() error) error {
			_, err := kill.Campaign{Addr: addr, Kills: dead, Restart: restart}.Run(ctx, b)
			return err
		})
		if err != nil {
			return err
		}
		return inject.WithServer(nil, func(addr string, _ func() error) error {
			_, err := kill.Frozen{Addr: addr, Calls: frozen}.Run(ctx, b)
			return errors.Join(err, b.Audit(ctx, addr))
		})
	}}
}
