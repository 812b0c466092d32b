/** The workspace that the stand-in plays for these tests. */
export const WORKSPACE = {
  botToken: 'xoxb-standin',
  signingSecret: 'a-signing-secret',
  appId: 'A0COUNTER',
  team: 'T0ACME',
  channel: 'C0FINANCE',
  users: [{ id: 'U0LIWEI', name: '李伟' }],
};
