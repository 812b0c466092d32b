import { describe, expect, it } from 'vitest';
import type { ChannelActor } from '../../src/channel/inbound-event.ts';
import type { PersonConfig } from '../../src/config/config.ts';
import { createRoster } from '../../src/confirmation/roster.ts';
import { personId } from '../../src/ids.ts';

const person = (id: string, more: Partial<PersonConfig> = {}): PersonConfig => ({
  id: personId(id),
  name: id.toUpperCase(),
  active: true,
  groups: [],
  roles: [],
  consoleKey: null,
  away: null,
  identities: [],
  ...more,
});
const feishu = (ids: Record<string, string>, tenant = 'acme') => ({ provider: 'feishu', tenant, ids });
const actor = (more: Partial<ChannelActor> = {}): ChannelActor => ({
  provider: 'feishu',
  tenant: 'acme',
  ids: { openId: 'ou_1', unionId: 'on_1' },
  isBot: false,
  ...more,
});

describe('who acted', () => {
  const li = person('li', {
    identities: [feishu({ openId: 'ou_1' }), { provider: 'slack', tenant: 'T1', ids: { user: 'U1' } }],
  });
  const roster = createRoster([
    li,
    person('wang', { identities: [feishu({ unionId: 'on_2', openId: 'ou_2' })] }),
  ]);
  const isLi = { kind: 'person', person: { id: 'li', name: 'LI', active: true } };

  it('is the person whose account it is, the same one on every platform', () => {
    expect(roster.personOf(actor())).toEqual(isLi);
    expect(roster.personOf(actor({ provider: 'slack', tenant: 'T1', ids: { user: 'U1' } }))).toEqual(isLi);
  });

  it.each<[string, Partial<ChannelActor>]>([
    ['an id that nobody has', { ids: { openId: 'ou_9' } }],
    ['no id at all', { ids: {} }],
    ['the same id in another tenant', { tenant: 'evil' }],
    ['the same id on another provider', { provider: 'slack' }],
    ['the same id as another kind of id', { ids: { userId: 'ou_1' } }],
    ['the ids of two accounts at once, of which one is known', { ids: { openId: 'ou_9', unionId: 'on_2' } }],
    ['a name of the language instead of an id', { ids: { constructor: 'x', __proto__: 'y' } }],
    ['a bot', { isBot: true }],
  ])('is unknown for %s', (_, more) => {
    expect(roster.personOf(actor(more))).toEqual({ kind: 'unknown' });
  });

  it('is ambiguous where two people claim the ids, and nobody is taken for them', () => {
    const both = createRoster([li, person('zhao', { identities: [feishu({ unionId: 'on_1' })] })]);
    expect(both.personOf(actor())).toEqual({ kind: 'ambiguous' });
    expect(both.personOf(actor({ ids: { openId: 'ou_1' } }))).toEqual(isLi);
  });

  it('is ambiguous where the ids are of two people, also where one of them is known by another one', () => {
    const both = createRoster([
      person('wang', { identities: [feishu({ unionId: 'on_2', openId: 'ou_2' })] }),
      person('zhao', { identities: [feishu({ unionId: 'on_3' })] }),
    ]);
    expect(both.personOf(actor({ ids: { openId: 'ou_2', unionId: 'on_3' } }))).toEqual({ kind: 'ambiguous' });
  });

  it('is one person where several of their ids agree', () => {
    expect(roster.personOf(actor({ ids: { openId: 'ou_2', unionId: 'on_2' } }))).toMatchObject({
      person: { id: 'wang' },
    });
  });

  it('cannot be forged by a tenant that holds separators', () => {
    const tricky = createRoster([person('li', { identities: [feishu({ openId: 'b' }, 'a","openId')] })]);
    expect(tricky.personOf(actor({ tenant: 'a', ids: { 'openId","openId': 'b', openId: 'b' } }))).toEqual({
      kind: 'unknown',
    });
  });

  it('is told as inactive where they are', () => {
    const left = createRoster([person('li', { active: false, identities: [feishu({ openId: 'ou_1' })] })]);
    expect(left.personOf(actor())).toMatchObject({ kind: 'person', person: { active: false } });
    expect(left.isActive(personId('li'))).toBe(false);
  });
});

describe('the roster', () => {
  const roster = createRoster([
    person('li', { groups: ['finance'], roles: ['operator'] }),
    person('wang', { groups: ['finance', 'board'] }),
    person('old', { groups: ['finance'], roles: ['admin'], active: false }),
  ]);

  it('knows people by id, their names, and the active members of a group', () => {
    expect(roster.byId(personId('wang'))).toEqual({ id: 'wang', name: 'WANG', active: true });
    expect(roster.byId(personId('nobody'))).toBeNull();
    expect(roster.nameOf(personId('li'))).toBe('LI');
    expect(roster.nameOf(personId('__proto__'))).toBeNull();
    expect(roster.members('finance')).toEqual(['li', 'wang']);
    expect(roster.members('nobody')).toEqual([]);
    expect(roster.isActive(personId('nobody'))).toBe(false);
  });

  it('gives roles to active people only', () => {
    expect(roster.rolesOf(personId('li'))).toEqual(['operator']);
    expect(roster.rolesOf(personId('old'))).toEqual([]);
    expect(roster.rolesOf(personId('nobody'))).toEqual([]);
  });
});
