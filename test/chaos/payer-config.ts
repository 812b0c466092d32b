/**
 * Beside the outside agent, two that pay through a connector on loopback, by a plan and by a model's word: `oa__pay`
 * pays, `oa__hang` takes the payment and never answers, `oa__again` breaks off at first and may run again.
 */
export const payerConfig = ({
  toolsUrl,
  modelUrl,
}: {
  readonly toolsUrl: string;
  readonly modelUrl: string;
}): string => `
models:
  main: { baseUrl: "${modelUrl}", apiKey: none, model: payer }
agents:
  - { id: procurement, owner: zhao.min }
  - { id: payer, owner: zhao.min, executor: dag, tools: ["oa__*"] }
  - { id: buyer, owner: zhao.min, model: main, tools: ["oa__*"] }
connectors:
  - id: oa
    kind: http
    baseUrl: ${toolsUrl}
    tools:
      - { name: pay, description: Pays., path: /payments, requiresConfirmation: true, timeout: 2s }
      - { name: hang, description: Pays and never answers., path: /hang, requiresConfirmation: true, timeout: 2s }
      - { name: again, description: Pays and answers the second time., path: /flaky, requiresConfirmation: true, idempotent: true, timeout: 2s }
defaultPolicy: { approvers: ["group:finance"], reason: on-reject, channels: [pay-slack, pay-feishu] }
`;
