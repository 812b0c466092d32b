import { Counter, Histogram, type Registry } from 'prom-client';
import type { HttpApp } from './http-app.ts';

/**
 * One line and one measurement a request: method, route, status, time. The route is its pattern, never the address
 * itself, and no header or body is touched: nothing secret can be in it.
 */
export function installRequestLog(app: HttpApp, metrics: Registry): void {
  const duration = new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Time to answer, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 3, 10, 60],
    registers: [metrics],
  });
  const errors = new Counter({
    name: 'countersign_http_errors_total',
    help: 'Answers of 500 and above.',
    registers: [metrics],
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown';
    const { method } = request;
    const status = reply.statusCode;
    const ms = Math.round(reply.elapsedTime);
    duration.observe({ method, route, status }, ms / 1000);
    if (status >= 500) errors.inc();
    const level = OPERATIONS.has(route) ? 'debug' : 'info';
    request.log[level]({ method, route, status, ms }, 'request');
  });
}

const OPERATIONS = new Set(['/healthz', '/readyz', '/metrics']);
