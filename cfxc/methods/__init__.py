"""What is built on exact engines: potentials, plans, generators."""
