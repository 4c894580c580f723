"""For those who run a broker: Prometheus' settings and alert rules, and a dashboard for Grafana."""
