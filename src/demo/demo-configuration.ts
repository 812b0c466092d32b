import { stringify } from 'yaml';
import type { Locale } from '../locale.ts';
import { CAST, type DemoPerson, FEISHU_TENANT, HASTY_PAYEE, SLACK_WORKSPACE } from './cast.ts';
import { consoleKeyName } from './demo-secrets.ts';

/** What differs from one demo to the next; everything else below is as a real configuration would have it. */
export interface DemoSettings {
  readonly locale: Locale;
  readonly dataDir: string;
  readonly feishuUrl: string;
  readonly slackUrl: string;
  readonly paymentsUrl: string;
  /** The section `policies:`, as YAML. */
  readonly policies: string;
}

/** The rules of the demo as an operator writes them: shown on the page as they stand. */
export const DEMO_POLICIES = (hastyDeadline: string): string => `policies:
  - id: courier-payment          # seconds to decide, so that an expiry can be watched
    tools: ["oa__purchase_pay"]
    when: 'args.payee == "${HASTY_PAYEE}" && ${LARGE}'
    approvers: ["group:finance"]
    channels: [pay-feishu, pay-slack]
    decideWithin: ${hastyDeadline}
    reason: on-reject
  - id: large-payment
    tools: ["oa__purchase_pay", "bank__transfer"]
    when: '${LARGE}'
    approvers: ["group:finance"]
    channels: [pay-feishu, pay-slack]
    decideWithin: 10m
    executeWithin: 5m
    reason: on-reject
`;

const LARGE = 'money(args.amount, args.currency) > money("50000", "CNY")';

const INSTRUCTIONS = `You buy things for Acme. Where an order number is given, read the order with oa__order_get first.
Pay with oa__purchase_pay; amounts are strings with two decimals and without separators, like "68000.00".
When a call did not run, say so and why, and do not try another way. Answer in the language you were asked in.`;

/** The text of `countersign.yaml`. Secrets are references to the environment, as they should be anywhere. */
export function demoConfiguration(settings: DemoSettings): string {
  const value = (text: string): string => JSON.stringify(text);
  return `organization: acme
listen: { host: 127.0.0.1, port: 0 }
dataDir: ${value(settings.dataDir)}
locale: ${settings.locale}
timeZone: Asia/Shanghai

apiKeys:
  - { id: procurement, key: "\${PROCUREMENT_KEY}", role: agent, agents: [procurement] }
  - { id: audit-desk, key: "\${AUDIT_KEY}", role: auditor }

${stringify({ people: CAST.map(personEntry) })}
channels:
  - id: pay-feishu
    kind: feishu
    domain: ${value(settings.feishuUrl)}
    appId: ${FEISHU_TENANT.appId}
    appSecret: \${FEISHU_APP_SECRET}
    encryptKey: \${FEISHU_ENCRYPT_KEY}
    verificationToken: \${FEISHU_VERIFICATION_TOKEN}
    tenant: ${FEISHU_TENANT.tenant}
    chat: ${FEISHU_TENANT.chat}
  - id: pay-slack
    kind: slack
    apiUrl: ${value(settings.slackUrl)}
    botToken: \${SLACK_BOT_TOKEN}
    signingSecret: \${SLACK_SIGNING_SECRET}
    team: ${SLACK_WORKSPACE.team}
    appId: ${SLACK_WORKSPACE.appId}
    channel: ${SLACK_WORKSPACE.channel}

${settings.policies}
models:
  main: { baseUrl: "\${OPENAI_BASE_URL}", apiKey: "\${OPENAI_API_KEY}", model: "\${MODEL}" }

externalTools: ["bank__transfer"]

connectors:
  - id: oa
    kind: http
    baseUrl: ${value(settings.paymentsUrl)}
    headers: { authorization: "Bearer \${OA_TOKEN}" }
    tools:
      - name: purchase_pay
        description: Pay a supplier. The amount is a decimal number as text, like "68000.00".
        path: /payments
        parameters:
          type: object
          required: [payee, amount, currency]
          additionalProperties: false
          properties:
            payee: { type: string, minLength: 1, maxLength: 200 }
            amount: { type: string, pattern: "^[0-9]{1,15}([.][0-9]{1,2})?$" }
            currency: { type: string, pattern: "^[A-Z]{3}$" }
            memo: { type: string, maxLength: 1000 }
        card: { amount: /amount, currency: /currency, payee: /payee }
        idempotent: true
      - name: order_get
        description: Read a purchase order by its number.
        method: GET
        path: /orders
        parameters:
          type: object
          required: [order]
          additionalProperties: false
          properties: { order: { type: string, maxLength: 40 } }
        writes: false

agents:
  - id: procurement
    model: main
    owner: zhao.min
    instructions: ${value(INSTRUCTIONS)}
    tools: ["oa__*"]
    hooks: { class_hooks: [session-context, read-only-guard] }
`;
}

const personEntry = ({ id, name, groups, roles, slackUser, feishuOpenId }: DemoPerson) => ({
  id,
  name,
  groups,
  roles,
  slack: { team: SLACK_WORKSPACE.team, user: slackUser },
  feishu: { tenant: FEISHU_TENANT.tenant, openId: feishuOpenId },
  consoleKey: `\${${consoleKeyName(id)}}`,
});
